package account

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the mail with reset links.
const (
	mailQueue    = 64  // requests that wait
	mailOutbox   = 256 // mails that wait
	mailAttempts = 3
	mailPause    = 5 * time.Second // before the second attempt, twice as long before the third
	mailGrace    = 2 * time.Second // for the mail that is being sent when the pages stop
)

// The results of requests for a mail.
const (
	mailSent    = "sent"
	mailFailed  = "failed"  // the server did not take it
	mailUnknown = "unknown" // no account has the address
	mailAddress = "address" // of the account, to which no mail can be sent
	mailMailbox = "mailbox" // more to the mailbox than it may get
	mailShare   = "share"   // half of mail.total is used, and the network had its share
	mailTotal   = "total"   // more in all than configured
	mailFull    = "full"    // too many requests or mails wait
	mailOff     = "off"     // mail was switched off, or the pages stopped
)

// mailer mails reset links, and to owners of accounts that another could not be made. Visitors
// only put requests into its queue, which takes the same time whether there is an account or
// not. Those that may have a mail move on to the outbox at once, so that a slow mail server
// leaves room for requests.
type mailer struct {
	*Pages
	queue   chan mailRequest
	outbox  chan outgoing
	results *prometheus.CounterVec
	full    netserve.Trouble // of the log; so is failing
	failing netserve.Trouble

	// send is mail.Send.
	send func(context.Context, *mail.Config, *mail.Message) error

	quota *mailQuota
	told  *netserve.Buckets[string] // log lines about requests that were refused, by result

	mu      sync.Mutex        // guards the fields below
	address *netserve.Limiter // requests
	by      int               // its mail.per_address
}

// mailRequest is a visitor's request that the owner of an account gets a mail.
type mailRequest struct {
	partner int
	email   string
	from    netip.Addr
	lang    *lang.Language // of the visitor
	exists  bool           // a registration of an account that exists already; else a link is wanted
}

// outgoing is a mail that waits.
type outgoing struct {
	mail.Message

	user storage.UserID
	from netip.Addr // of the request
	link bool       // the mail has a reset link
}

func newMailer(p *Pages) *mailer {
	counters := p.Counters
	if p.opt.Service == nil {
		counters = metric.With(nil).Counters // there are no accounts
	}
	return &mailer{
		Pages: p, queue: make(chan mailRequest, mailQueue), outbox: make(chan outgoing, mailOutbox), send: mail.Send,
		results: counters("respawnd_web_reset_mails_total", "Requests for a mail with a reset link or about an account that exists already, by result.", "result",
			mailSent, mailFailed, mailUnknown, mailAddress, mailMailbox, mailShare, mailTotal, mailFull, mailOff),
		quota: newMailQuota(), told: netserve.NewBuckets[string](1, mailHour, len(refusedMails)),
	}
}

// config returns the present settings. ok is false if no links are mailed.
func (m *mailer) config() (c mail.Config, ok bool) {
	if m.opt.Mail == nil || m.opt.PublicURL == "" {
		return c, false
	}
	c = m.opt.Mail()
	return c, c.On()
}

// admits reports whether an address may ask for one more link. A new mail.per_address
// starts with none counted.
func (m *mailer) admits(from netip.Addr, c *mail.Config) bool {
	m.mu.Lock()
	if m.address == nil || m.by != c.PerAddress {
		m.by = c.PerAddress
		m.address = netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.PerAddress) / mailHour.Seconds(), Burst: c.PerAddress})
	}
	address := m.address
	m.mu.Unlock()
	return address.Allow(from, time.Now())
}

// refusedMails are the messages of the log about requests that a bound refused, by result.
var refusedMails = map[string]string{
	mailMailbox: "no mail to a player: the mailbox had mail.per_account within an hour, or ten within a day",
	mailShare:   "no mail to a player: half of mail.total was used within an hour, and the network had its share",
	mailTotal:   "no mail to a player: mail.total was reached within an hour",
}

// refuse logs, once per hour and result, that a bound refused a request.
func (m *mailer) refuse(result string, from netip.Addr, now time.Time) {
	if m.told.Take(result, now) {
		m.Log().Warn().Stringer("peer", from).Msg(refusedMails[result] + "; respawnd_web_reset_mails_total counts further ones")
	}
}

// ask puts a request into the queue, unless the mailbox must not get a mail: a flood of
// requests for one takes no room from others.
func (m *mailer) ask(r mailRequest, c *mail.Config) {
	if now := time.Now(); !m.quota.mayMail(r.email, r.partner, c, now) {
		m.count(mailMailbox)
		m.refuse(mailMailbox, r.from, now)
		return
	}
	select {
	case m.queue <- r:
	default:
		m.count(m.overflow())
	}
}

// overflow logs that a request finds no room.
func (m *mailer) overflow() string {
	m.full.Line(m.Log().Warn()).Msg("requests for mail to players were dropped: too many wait")
	return mailFull
}

func (m *mailer) count(result string) { m.results.WithLabelValues(result).Inc() }

// run sends mail until ctx ends. The one that is being sent then has mailGrace; the
// requests that wait are dropped.
func (m *mailer) run(ctx context.Context) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(mailGrace, cancel) })
	defer stop()
	var deciding sync.WaitGroup
	deciding.Go(func() {
		handle(ctx, m.queue, func(r mailRequest) {
			if refused := m.decide(sending, r); refused != "" {
				m.count(refused)
			}
		})
	})
	handle(ctx, m.outbox, func(o outgoing) { m.count(m.deliver(ctx, sending, &o)) })
	deciding.Wait()
	if n := len(m.queue) + len(m.outbox); n > 0 {
		m.results.WithLabelValues(mailOff).Add(float64(n))
		m.Log().Warn().Int("requests", n).Msg("requests for mail to players were dropped: the daemon stops")
	}
}

// handle calls do with what arrives until ctx ends.
func handle[T any](ctx context.Context, from <-chan T, do func(T)) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case v := <-from:
			do(v)
		}
	}
}

// decide puts the mail that a request asks for into the outbox, or returns the result of
// the request.
func (m *mailer) decide(ctx context.Context, r mailRequest) (refused string) {
	c, on := m.config()
	if !on {
		return mailOff
	}
	u, err := m.opt.Store.UserByEmail(ctx, r.partner, r.email)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		m.Log().Debug().Stringer("peer", r.from).Msg("no account has the address to which a reset link was to be mailed")
		return mailUnknown
	case err != nil:
		return m.failed(0, err)
	case len(m.outbox) == cap(m.outbox): // nothing else puts mails into it
		return m.overflow()
	}
	now := time.Now()
	if refused := m.quota.take(&u, r.from, m.opt.Service.SignIn.AtHome(r.from, &u), &c, now); refused != "" {
		m.refuse(refused, r.from, now)
		return refused
	}
	out := outgoing{user: u.ID, from: r.from, link: !r.exists}
	if r.exists {
		out.Message = m.existing(r.lang, u.Email)
	} else {
		link, err := m.opt.Service.Passwords.SignReset(&u)
		if err != nil {
			return m.failed(u.ID, err)
		}
		out.Message = m.message(r.lang, u.Email, link)
	}
	m.outbox <- out
	return ""
}

// deliver sends a mail and returns the result of its request. A temporary failure is tried again, up to
// mailAttempts times, until ctx ends. sending ends later: it bounds the attempt that is under way.
func (m *mailer) deliver(ctx, sending context.Context, o *outgoing) string {
	c, on := m.config()
	if !on {
		return mailOff
	}
	var err error
	for attempt := 1; ; attempt++ {
		err = m.send(sending, &c, &o.Message)
		if err == nil {
			m.mailed(sending, o)
			return mailSent
		}
		if attempt == mailAttempts || !mail.IsTemporary(err) || !clock.Pause(ctx, time.Duration(attempt)*mailPause) {
			break
		}
	}
	if errors.Is(err, mail.ErrAddress) {
		m.Log().Info().Uint32("user", uint32(o.user)).Msg("no mail to a player: the e-mail of the account is not an address of mail")
		return mailAddress
	}
	return m.failed(o.user, err)
}

// mailed records that a mail was sent. Links are in the audit log.
func (m *mailer) mailed(ctx context.Context, o *outgoing) {
	log := m.Log().Info().Uint32("user", uint32(o.user)).Stringer("peer", o.from)
	if !o.link {
		log.Msg("the owner of an account was informed that another could not be made")
		return
	}
	log.Msg("reset link mailed")
	if _, err := m.opt.Store.AddAudit(ctx, m.entry(ctx, "account.reset_mail", o.user, o.from)); err != nil {
		m.failing.Line(m.Log().Warn()).Err(err).Uint32("user", uint32(o.user)).Msg("a reset link was mailed; the audit log does not have it")
	}
}

// failed logs an error that is not the visitor's.
func (m *mailer) failed(user storage.UserID, err error) string {
	m.failing.Line(m.Log().Warn()).Err(err).Uint32("user", uint32(user)).Msg("a mail to a player was not sent")
	return mailFailed
}

// message returns the mail with a link. Nothing in it comes from a request.
func (m *mailer) message(l *lang.Language, to string, link accounts.Reset) mail.Message {
	return m.letter(l, to, l.T("New password for %1", m.name()),
		l.T("Someone, probably you, asked for a link to set a new password for your account at"),
		l.T("Open this link to set it:")+"\n\n"+m.opt.PublicURL+ResetPath+"#"+link.Code+"\n\n"+
			l.T("It works once, until %1, unless the password is changed before.", l.Time(link.Expires.UTC(), "2 January 2006, 15:04 UTC"))+"\n"+
			l.T("If you did not ask for it, do nothing: your password stays as it is.")+"\n")
}

// existing returns the mail about an account that exists already. Nothing in it comes from a
// request.
func (m *mailer) existing(l *lang.Language, to string) mail.Message {
	return m.letter(l, to, l.T("Your account at %1", m.name()),
		l.T("Someone, probably you, wanted to make an account with your e-mail address at"),
		l.T("You have one already, and nothing was changed. If you forgot its password, ask for a link here:")+"\n\n"+
			m.opt.PublicURL+ResetPath+"\n\n"+l.T("If it was not you, do nothing.")+"\n")
}

// letter returns a mail of the site. It begins with what was done there.
func (m *mailer) letter(l *lang.Language, to, subject, did, text string) mail.Message {
	text = did + "\n" + m.name() + " (" + m.opt.PublicURL + ").\n\n" + text
	if contact := m.contact(); contact != "" {
		text += "\n" + l.T("Questions?") + " " + contact + "\n"
	}
	return mail.Message{Name: m.name(), To: to, Subject: subject, Text: text}
}
