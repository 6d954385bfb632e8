package account

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/storage"
)

// quotaTest asks a quota at a time.
type quotaTest struct {
	t   *testing.T
	q   *mailQuota
	c   mail.Config
	now time.Time
}

func newQuotaTest(t *testing.T, total int) *quotaTest {
	t.Helper()
	return &quotaTest{t, newMailQuota(), mail.Config{PerAccount: 3, Total: total}, time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
}

// want checks the result of a request; empty: the mail is sent.
func (q *quotaTest) want(result, email, from string, known bool) {
	q.t.Helper()
	if got := q.q.take(&storage.User{Email: email}, netip.MustParseAddr(from), known, &q.c, q.now); got != result {
		q.t.Errorf("%s from %s: %q, want %q", email, from, got, result)
	}
}

// drain asks for mails to ever new mailboxes until one is refused, and returns how many
// were sent.
func (q *quotaTest) drain(from string, known bool) (n int) {
	for ; n < 10_000; n++ {
		if q.q.take(&storage.User{Email: fmt.Sprintf("%d@%s.example", len(q.q.day.log), from)}, netip.MustParseAddr(from), known, &q.c, q.now) != "" {
			break
		}
	}
	return n
}

// A mailbox gets three mails within any hour, ten within any day. Those that are refused
// do not count.
func TestMailboxQuota(t *testing.T) {
	q := newQuotaTest(t, 1000)
	names := []string{"ann@example.org", "Ann@Example.ORG", "ann@example.org."}
	from := func() string { return fmt.Sprintf("198.51.%d.1", len(q.q.strangers.log)) }
	for hour := range 4 {
		sent := min(3, mailsADay-3*hour)
		for i := range sent {
			q.want("", names[i], from(), false)
		}
		for _, name := range names {
			q.want(mailMailbox, name, from(), true)
			if q.q.mayMail(name, 0, &q.c, q.now) {
				t.Errorf("hour %d: %s has room", hour, name)
			}
		}
		q.want("", fmt.Sprintf("another%d@example.org", hour), from(), false)
		q.now = q.now.Add(mailHour)
	}
	q.want(mailMailbox, names[0], from(), false)
	q.now = q.now.Add(mailDay - 4*mailHour - 1)
	q.want(mailMailbox, names[0], from(), false)
	q.now = q.now.Add(1)
	for range 3 {
		q.want("", names[0], from(), false)
	}
	q.want(mailMailbox, names[0], from(), false)
}

// Accounts that anyone can make for the mailbox of a player, with other partner codes,
// leave some mails of the day for the ordinary one.
func TestMailboxQuotaOfPartners(t *testing.T) {
	q := newQuotaTest(t, 1000)
	sent := 0
	for i := range 100 {
		u := storage.User{Email: "ann@example.org", Partner: 1 + i%34}
		if q.q.take(&u, netip.AddrFrom4([4]byte{198, 51, byte(i), 1}), false, &q.c, q.now) == "" {
			sent++
		}
		q.now = q.now.Add(mailHour / 10)
	}
	if sent != mailsApart || q.q.mayMail("ann@example.org", 1, &q.c, q.now) {
		t.Errorf("%d mails to accounts with other partner codes, want %d", sent, mailsApart)
	}
	for range mailsADay - mailsApart {
		q.want("", "ann@example.org", "192.0.2.1", false)
	}
	q.now = q.now.Add(mailHour)
	q.want(mailMailbox, "ann@example.org", "192.0.2.1", false)
}

// Strangers at many addresses leave something for other networks, and a part for known
// addresses, whose own rush is shared out too.
func TestTotalQuota(t *testing.T) {
	q := newQuotaTest(t, 100)
	sent := 0
	for i := range 15 {
		sent += q.drain(fmt.Sprintf("198.51.%d.7", i), false)
	}
	if sent != 38+14 { // half of the 75 for strangers, and one for each further network
		t.Errorf("15 networks got %d of 100, want 52", sent)
	}
	for _, near := range []string{"198.51.0.9", "198.51.0.7"} {
		q.want(mailShare, "ann@example.org", near, false)
	}
	for i := range 75 - sent {
		q.want("", fmt.Sprintf("ann%d@example.org", i), fmt.Sprintf("203.0.%d.9", i), false)
	}
	q.want(mailTotal, "bob@example.org", "192.0.2.1", false)
	if n := q.drain("198.51.0.7", true); n != 13 {
		t.Errorf("one network of known addresses got %d of the 25 that are kept, want the half", n)
	}
	q.want(mailShare, "bob@example.org", "198.51.0.9", true)
	q.want("", "bob@example.org", "192.0.2.1", true)
	q.want(mailTotal, "bob@example.org", "192.0.2.1", false)
	for i := range 100 {
		q.drain(fmt.Sprintf("192.1.%d.7", i), true)
	}
	if n := len(q.q.day.log); n != 100 {
		t.Errorf("%d mails in all, want 100", n)
	}
	q.want(mailTotal, "cid@example.org", "192.0.2.9", true)
	q.now = q.now.Add(mailHour)
	q.want("", "cid@example.org", "192.0.2.9", false)

	q = newQuotaTest(t, 1)
	q.want("", "ann@example.org", "192.0.2.1", false)
	q.want(mailTotal, "bob@example.org", "198.51.100.1", true)
}

func TestNetwork(t *testing.T) {
	for a, want := range map[string]string{
		"192.0.2.77": "192.0.2.0", "::ffff:192.0.2.77": "192.0.2.0", "2001:db8:1:2::3": "2001:db8:1::", "fe80::1%eth0": "fe80::",
	} {
		if got := network(netip.MustParseAddr(a)); got.String() != want {
			t.Errorf("network(%s) = %s, want %s", a, got, want)
		}
	}
	if got := network(netip.Addr{}); got.IsValid() {
		t.Errorf("network of no address = %s", got)
	}
}

// What is remembered has a bound.
func TestRecentIsBounded(t *testing.T) {
	r, now := newRecent[int](mailDay), time.Now()
	for i := range mailMemory + 10 {
		r.add(i, now)
	}
	if len(r.log) != mailMemory || len(r.by) != mailMemory || r.of(9, now) != 0 || r.of(10, now) != 1 {
		t.Errorf("%d events of %d keys, want %d; the oldest %d, %d", len(r.log), len(r.by), mailMemory, r.of(9, now), r.of(10, now))
	}
	if r.of(10, now.Add(mailDay)) != 0 || len(r.log) != 0 || len(r.by) != 0 {
		t.Errorf("a day later: %d events of %d keys, want none", len(r.log), len(r.by))
	}
}
