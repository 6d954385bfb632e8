package account

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the mails with reset links, besides the configured ones.
const (
	mailHour   = time.Hour      // of mail.per_address, mail.per_account and mail.total
	mailDay    = 24 * time.Hour // of mailsADay; a link lives as long, so a full mailbox has one that works
	mailsADay  = 10             // to one mailbox
	mailsApart = 7              // of them for accounts with other partner codes than 0, which anyone can make
	mailKept   = 4              // one of so many mails of mail.total is kept for known addresses
	mailShares = 32             // networks that share the second half of either part
	mailMemory = 1 << 16        // mails that are remembered
)

// mailQuota counts the mails that were sent, and decides whether one more may be. It is
// kept in memory only, as failed logins are: a stranger cannot restart the daemon, and
// the links that were mailed before a restart stay valid.
type mailQuota struct {
	mu               sync.Mutex         // guards the fields below
	hour, day, apart recent[string]     // by mailbox; apart: of a day, for partner codes other than 0
	strangers, known recent[netip.Addr] // by network: within mail.total; of its kept part
}

func newMailQuota() *mailQuota {
	return &mailQuota{
		hour: newRecent[string](mailHour), day: newRecent[string](mailDay), apart: newRecent[string](mailDay),
		strangers: newRecent[netip.Addr](mailHour), known: newRecent[netip.Addr](mailHour),
	}
}

// mayMail reports whether the mailbox of an e-mail may get one more mail for its account
// with a partner code.
func (q *mailQuota) mayMail(email string, partner int, c *mail.Config, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mayMailTo(mailbox(email), partner, c, now)
}

// mayMailTo is mayMail for a mailbox. q.mu is held.
func (q *mailQuota) mayMailTo(box string, partner int, c *mail.Config, now time.Time) bool {
	return q.hour.of(box, now) < c.PerAccount && q.day.of(box, now) < mailsADay &&
		(partner == 0 || q.apart.of(box, now) < mailsApart)
}

// take counts a mail to an account that was asked for from an address, which is known if
// the account was signed in from there. It returns the reason, a result of requests, for which the
// mail must not be sent, and counts nothing then.
func (q *mailQuota) take(u *storage.User, from netip.Addr, known bool, c *mail.Config, now time.Time) (refused string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	box, net, kept := mailbox(u.Email), network(from), c.Total/mailKept
	if !q.mayMailTo(box, u.Partner, c, now) {
		return mailMailbox
	}
	part := &q.strangers
	if refused = part.share(net, c.Total-kept, now); refused != "" && known {
		part = &q.known
		refused = part.share(net, kept, now)
	}
	if refused != "" {
		return refused
	}
	q.hour.add(box, now)
	q.day.add(box, now)
	if u.Partner != 0 {
		q.apart.add(box, now)
	}
	part.add(net, now)
	return ""
}

// share returns why a network may not have one more mail; empty: it may. The first half of the total
// is for all networks. Of the second half each network has a share.
func (r *recent[K]) share(net K, total int, now time.Time) (refused string) {
	had := r.of(net, now)
	switch {
	case len(r.log) >= total:
		return mailTotal
	case 2*len(r.log) >= total && had >= max(total/2/mailShares, 1):
		return mailShare
	}
	return ""
}

// mailbox returns the same text for all e-mails that reach one mailbox: those of accounts
// with several partner codes, in any case of letters, with the dot that may end a
// host name.
func mailbox(email string) string { return storage.Fold(strings.TrimRight(email, ".")) }

// network returns the first address of the network of a: of its /24, for IPv6 of its /48.
func network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits) // it fits; that of the zero address is the zero prefix
	return p.Addr()
}

// recent counts the events of keys within a time. Beyond mailMemory the oldest are
// forgotten.
type recent[K comparable] struct {
	life time.Duration
	log  []recentEvent[K] // the oldest first
	by   map[K]int
}

type recentEvent[K comparable] struct {
	at  time.Time
	key K
}

func newRecent[K comparable](life time.Duration) recent[K] {
	return recent[K]{life: life, by: make(map[K]int)}
}

// of returns the number of events of a key within the time before now. Older ones are
// forgotten.
func (r *recent[K]) of(key K, now time.Time) int {
	for len(r.log) > 0 && now.Sub(r.log[0].at) >= r.life {
		r.forget()
	}
	return r.by[key]
}

// add adds an event.
func (r *recent[K]) add(key K, now time.Time) {
	if len(r.log) >= mailMemory {
		r.forget()
	}
	r.log = append(r.log, recentEvent[K]{now, key})
	r.by[key]++
}

// forget forgets the oldest event.
func (r *recent[K]) forget() {
	key := r.log[0].key
	r.log = r.log[1:]
	if r.by[key]--; r.by[key] == 0 {
		delete(r.by, key)
	}
}
