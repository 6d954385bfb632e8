package account

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/page"
	"github.com/respawnd/respawnd/web/webtest"
)

const public = "https://servers.example.org"

// post is the mail of a fixture.
type post struct {
	*fixture

	config mail.Config
	mu     sync.Mutex // guards the fields below
	sent   []mail.Message
	err    error
}

// newPost returns pages that mail links into memory.
func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{config: mail.Config{SMTPURL: "smtp://127.0.0.1", From: "noreply@example.org", PerAddress: 1000, PerAccount: 3, Total: 1000}}
	p.fixture = newFixture(t, func(o *Options) {
		o.PublicURL, o.Mail = public, func() mail.Config { return p.config }
	})
	p.pages.mailer.send = func(_ context.Context, _ *mail.Config, m *mail.Message) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.sent = append(p.sent, *m)
		}
		return p.err
	}
	return p
}

// make makes an account without the pages, with a partner code.
func (p *post) make(email string, partner int) {
	p.T.Helper()
	if _, err := p.service.Users.Register(p.T.Context(), accounts.Registration{Partner: partner, Email: email, Nick: "Ann", Password: "secret"}); err != nil {
		p.T.Fatal(err)
	}
}

// ask asks for a link and returns the answer, and whether it is that to all.
func (p *post) ask(b *browser, email string, fields ...string) (status int, usual bool) {
	p.T.Helper()
	b.host, b.origin = "evil.example.net", "https://servers.example.org"
	b.get("/account/reset")
	w := b.send("/account/reset/mail", append(fields, "email", email)...)
	return w.Code, w.Code == http.StatusSeeOther && w.Header().Get("Location") == "/account/reset?done=mailed"
}

// work sends the queued mails.
func (p *post) work() {
	ctx, cancel := context.WithCancel(p.T.Context())
	done := make(chan struct{})
	go func() { p.pages.Run(ctx); close(done) }()
	synctest.Wait()
	cancel()
	<-done
}

// results returns how many requests had a result.
func (p *post) results(result string) int {
	return int(p.Count("respawnd_web_reset_mails_total", "result", result))
}

func TestResetMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.pages.site.SetCommunity(page.Community{Title: "The Inn", Contact: page.Link{Title: "#help on IRC"}})
		p.make("Ann@example.org", 0)
		b := p.browser("198.51.100.7:4000")
		for _, email := range []string{"ann@EXAMPLE.org", "none@example.org"} {
			if status, usual := p.ask(b, email); !usual {
				t.Errorf("%s: status %d, want the usual answer", email, status)
			}
			if len(p.sent) > 0 {
				t.Error("a mail was sent before the answer")
			}
		}
		b.get("/account/reset?done=mailed")
		webtest.WantParts(t, "the page", b.page, "If there is an account with that e-mail address", "Mail me a link", "Ask <bdi>#help on IRC</bdi>")
		p.work()
		if len(p.sent) != 1 || p.results(mailSent) != 1 || p.results(mailUnknown) != 1 {
			t.Fatalf("%d mails, %d sent, %d unknown, want one each", len(p.sent), p.results(mailSent), p.results(mailUnknown))
		}
		for e, err := range p.store.AuditLog(t.Context(), 0) {
			if err != nil || e.Action != "account.reset_mail" || e.From.String() != "198.51.100.7" || e.Subject != "Ann" || e.Via != storage.ViaPlayer {
				t.Errorf("the last entry of the audit log is %+v, %v", e, err)
			}
			break
		}
		m := p.sent[0]
		if m.To != "Ann@example.org" || strings.ContainsAny(m.Subject, "\r\n") || !strings.Contains(m.Text, "#help on IRC") || !strings.Contains(m.Text, "\nThe Inn (") || m.Subject != "New password for The Inn" || strings.Contains(m.Text, "evil") {
			t.Errorf("the mail is %+v", m)
		}
		_, rest, ok := strings.Cut(m.Text, public+"/account/reset#")
		if !ok {
			t.Fatalf("the mail has no link to web.public_url: %s", m.Text)
		}
		code, _, _ := strings.Cut(rest, "\n")
		if err := p.service.Passwords.UseReset(t.Context(), code, "another", b.f.pages.Visitor(&http.Request{RemoteAddr: b.peer})); err != nil {
			t.Errorf("the link in the mail: %v", err)
		}
		if strings.Contains(p.log.String(), code) || strings.Contains(strings.ToLower(p.log.String()), "ann@") {
			t.Errorf("the log has the code or the address: %s", p.log)
		}
	})
}

// A link of the operator, and one from an earlier mail, stay valid whatever others
// ask for, whether a mail goes out or not.
func TestResetMailEndsNoLink(t *testing.T) {
	for name, failure := range map[string]error{"sent": nil, "not sent": &textproto.Error{Code: 550, Msg: "no"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPost(t)
				p.make("ann@example.org", 0)
				p.ask(p.browser(near), "ann@example.org")
				p.work()
				_, earlier, _ := strings.Cut(p.sent[0].Text, "/account/reset#")
				operators, stranger := p.issue("ann@example.org"), p.browser("198.51.100.7:4000")
				before := p.user("ann@example.org")
				p.err = failure
				p.ask(stranger, "ann@example.org")
				p.work()
				if after := p.user("ann@example.org"); after.Rev != before.Rev {
					t.Error("a stranger's request changed the record of the account")
				}
				if got := p.browser(near).reset(operators, "by-operator"); got != resetDone {
					t.Errorf("the operator's link after a stranger's request: %q", got)
				}
				if got := p.browser(near).reset(earlier[:48], "by-mail"); !strings.Contains(got, "This link is not valid") {
					t.Errorf("the link of a mail after another was used: %q", got)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.make("ann@example.org", 0)
		for range 2 {
			p.ask(p.browser(near), "ann@example.org")
		}
		p.work()
		_, earlier, _ := strings.Cut(p.sent[0].Text, "/account/reset#")
		if got := p.browser(near).reset(earlier[:48], "another"); got != resetDone {
			t.Errorf("the link of the first of two mails: %q", got)
		}
	})
}

// A mailbox, not an account, gets three mails an hour. A request that no mail answers
// does not count, so that no stranger can use up those of a player.
func TestResetMailMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		want := func(what string, sent, mailbox int) {
			t.Helper()
			p.work()
			if p.results(mailSent) != sent || p.results(mailMailbox) != mailbox || len(p.sent) != sent {
				t.Errorf("%s: %d sent, %d refused; want %d, %d", what, p.results(mailSent), p.results(mailMailbox), sent, mailbox)
			}
		}
		stranger := func(i int) *browser { return p.browser(fmt.Sprintf("198.51.%d.7:4000", i)) }
		for partner := range 34 {
			p.make([]string{"ann@example.org", "Ann@Example.ORG"}[partner%2], partner)
		}
		for i := range 20 {
			p.ask(stranger(i), "ann@example.org", "partner", "99")
		}
		want("an account that does not exist", 0, 0)
		for i := range 34 {
			if status, usual := p.ask(stranger(i), "ann@example.org", "partner", fmt.Sprint(i)); !usual {
				t.Errorf("status %d for account %d, want the usual answer", status, i)
			}
		}
		want("34 accounts", 3, 31)
		for i := range mailQueue + 1 {
			p.ask(stranger(i), "ann@example.org")
		}
		if len(p.pages.mailer.queue) != 0 || p.results(mailFull) != 0 {
			t.Errorf("%d requests for a full mailbox wait, %d found no room", len(p.pages.mailer.queue), p.results(mailFull))
		}
		if n := strings.Count(p.log.String(), "no mail to a player: the mailbox had"); n != 1 {
			t.Errorf("the log says %d times that the mailbox is full, want once:\n%s", n, p.log)
		}
		time.Sleep(mailHour)
		p.ask(stranger(0), "ann@example.org")
		want("an hour later", 4, 31+mailQueue+1)
	})
}

// A registration does not tell whether there is an account; the owner gets a mail.
func TestMailToTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.make("ann@example.org", 0)
		b := p.browser("198.51.100.7:4000")
		register := func(email string) {
			t.Helper()
			b.get("/account/register")
			wantDone(t, email, b.send("/account/register", "email", email, "nick", "Mallory", "new", "guess", "repeat", "guess"), "/account/login?done=mailed-owner")
		}
		register("ann@example.org")
		register("new@example.org")
		b.get("/account/login?done=mailed-owner")
		webtest.WantParts(t, "the page after it", b.page, "a mail to it says so")
		p.work()
		if len(p.sent) != 1 || p.results(mailSent) != 1 {
			t.Fatalf("%d mails, want one: %+v", len(p.sent), p.sent)
		}
		m := p.sent[0]
		if m.To != "ann@example.org" || !strings.Contains(m.Text, public+"/account/reset\n") || strings.Contains(m.Text, "Mallory") {
			t.Errorf("the mail is %+v", m)
		}
		if !p.passwordFits("ann@example.org", "secret") || !p.passwordFits("new@example.org", "guess") {
			t.Error("want the old account as it was, and the new one")
		}
		// Every registration counts toward mail.per_address: that of an account is not refused earlier.
		p.config.PerAddress = 2
		for _, email := range []string{"a@example.org", "b@example.org"} {
			register(email)
		}
		if status, usual := p.ask(b, "ann@example.org"); usual || status != http.StatusTooManyRequests {
			t.Errorf("a request for a link after as many registrations as mails: status %d, want 429", status)
		}
	})
}

// Mails are in the language of the visitor who causes them.
func TestMailInLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.make("ann@example.org", 0)
		b := p.browser("198.51.100.7:4000")
		b.cookies["respawnd-language"] = &http.Cookie{Name: "respawnd-language", Value: "de"}
		b.get("/account/register")
		b.send("/account/register", "email", "ann@example.org", "nick", "Mallory", "new", "guess", "repeat", "guess")
		p.ask(b, "ann@example.org")
		p.work()
		if len(p.sent) != 2 {
			t.Fatalf("%d mails, want two", len(p.sent))
		}
		for i, parts := range [][]string{{"Dein Konto bei ", "Du hast schon eins"}, {"Neues Passwort für ", "Öffne diesen Link"}} {
			if m := p.sent[i]; !strings.HasPrefix(m.Subject, parts[0]) || !strings.Contains(m.Text, parts[1]) {
				t.Errorf("the mail is %+v, want %q", m, parts)
			}
		}
	})
}

// When strangers have used up what they may, a player who signed in before from the same
// address gets a mail.
func TestResetMailTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.config.Total = 8 // 2 of them are kept
		for i := range 10 {
			p.make(fmt.Sprintf("ann%d@example.org", i), 0)
		}
		b := p.browser("203.0.113.9:4000")
		p.make("bob@example.org", 0)
		b.get("/account/login")
		wantDone(t, "a sign-in", b.send("/account/login", "email", "bob@example.org", "password", "secret"), "/account")
		for i := range 7 {
			p.ask(p.browser(fmt.Sprintf("198.51.%d.7:4000", i)), fmt.Sprintf("ann%d@example.org", i))
		}
		p.ask(p.browser("198.51.0.8:4000"), "ann8@example.org")
		p.work()
		if p.results(mailSent) != 6 || p.results(mailTotal) != 2 {
			t.Errorf("%d sent, %d over the total; want 6, 2", p.results(mailSent), p.results(mailTotal))
		}
		p.ask(p.browser("192.0.2.44:4000"), "bob@example.org")
		p.work()
		p.ask(b, "bob@example.org")
		p.work()
		if p.results(mailSent) != 7 || p.results(mailTotal) != 3 || p.sent[len(p.sent)-1].To != "bob@example.org" {
			t.Errorf("%d sent, %d over the total; want 7, 3", p.results(mailSent), p.results(mailTotal))
		}
		if n := strings.Count(p.log.String(), "mail.total was reached"); n != 1 {
			t.Errorf("the log says %d times that mail.total was reached, want once:\n%s", n, p.log)
		}
		time.Sleep(mailHour)
		for i := range 6 {
			p.ask(p.browser(fmt.Sprintf("198.51.100.%d:4000", i)), fmt.Sprintf("ann%d@example.org", i))
		}
		p.work()
		if p.results(mailSent) != 10 || p.results(mailShare) != 3 {
			t.Errorf("one network: %d sent, %d over its share; want 10, 3", p.results(mailSent), p.results(mailShare))
		}
	})
}

// While the mail server is slow, requests that get no mail take no room from others.
func TestResetMailFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.config.Total, p.config.PerAddress = 16, 0 // 6 for anyone, one for each further network, 4 kept
		for i := range 20 {
			p.make(fmt.Sprintf("ann%d@example.org", i), 0)
		}
		p.make("bob@example.org", 0)
		send, open := p.pages.mailer.send, make(chan struct{})
		p.pages.mailer.send = func(ctx context.Context, c *mail.Config, m *mail.Message) error {
			<-open
			return send(ctx, c, m)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.pages.Run(ctx); close(done) }()
		for i := range 3 * mailQueue {
			p.ask(p.browser(fmt.Sprintf("198.51.%d.7:4000", i%3)), fmt.Sprintf("ann%d@example.org", i%20))
			synctest.Wait()
		}
		p.ask(p.browser("203.0.113.9:4000"), "bob@example.org")
		close(open)
		synctest.Wait()
		cancel()
		<-done
		if p.results(mailFull) != 0 || p.results(mailSent) != 7 || p.sent[len(p.sent)-1].To != "bob@example.org" {
			t.Errorf("%d dropped, %d sent; want none, and 7 with that of a player", p.results(mailFull), p.results(mailSent))
		}
	})
}

func TestResetMailPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.config.PerAddress = 2
		b := p.browser("198.51.100.7:4000")
		for i, want := range []int{http.StatusSeeOther, http.StatusSeeOther, http.StatusTooManyRequests} {
			if status, _ := p.ask(b, "none@example.org"); status != want {
				t.Errorf("request %d of an address: status %d, want %d", i, status, want)
			}
		}
		if status, _ := p.ask(p.browser("203.0.113.9:4000"), "none@example.org"); status != http.StatusSeeOther {
			t.Errorf("another address: status %d", status)
		}
	})
}

func TestResetMailQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		b := p.browser("198.51.100.7:4000")
		for range mailQueue + 2 {
			if status, usual := p.ask(b, "none@example.org"); !usual {
				t.Fatalf("status %d, want the usual answer", status)
			}
		}
		if got := p.results(mailFull); got != 2 {
			t.Errorf("%d requests found the queue full, want 2", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.pages.Run(ctx)
		if got := p.results(mailOff); got != mailQueue {
			t.Errorf("%d requests were dropped at the stop, want %d", got, mailQueue)
		}
	})
}

func TestResetMailFails(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		tries  int
		result string
	}{
		"for good":    {&textproto.Error{Code: 550, Msg: "no"}, 1, mailFailed},
		"for now":     {&textproto.Error{Code: 451, Msg: "later"}, mailAttempts, mailFailed},
		"bad address": {mail.ErrAddress, 1, mailAddress},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPost(t)
				p.make("ann@example.org", 0)
				tries := 0
				p.pages.mailer.send = func(context.Context, *mail.Config, *mail.Message) error { tries++; return tc.err }
				p.ask(p.browser(near), "ann@example.org")
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { p.pages.Run(ctx); close(done) }()
				time.Sleep(time.Minute)
				cancel()
				<-done
				if tries != tc.tries || p.results(tc.result) != 1 {
					t.Errorf("%d attempts, %d with result %s; want %d, 1", tries, p.results(tc.result), tc.result, tc.tries)
				}
				if strings.Contains(p.log.String(), "ann@") {
					t.Errorf("the log has the address: %s", p.log)
				}
			})
		})
	}
}

// The mail that is being sent when the pages stop has some time, no more.
func TestResetMailStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		p.make("ann@example.org", 0)
		p.pages.mailer.send = func(ctx context.Context, _ *mail.Config, _ *mail.Message) error {
			<-ctx.Done()
			return ctx.Err()
		}
		p.ask(p.browser(near), "ann@example.org")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.pages.Run(ctx); close(done) }()
		synctest.Wait()
		begin := time.Now()
		cancel()
		<-done
		if took := time.Since(begin); took != mailGrace {
			t.Errorf("the stop took %v, want %v", took, mailGrace)
		}
	})
}

func TestResetMailOff(t *testing.T) {
	for name, change := range map[string]func(*post){
		"no server":     func(p *post) { p.config.SMTPURL = "" },
		"no sender":     func(p *post) { p.config.From = "" },
		"no public URL": func(p *post) { p.pages.opt.PublicURL = "" },
		"no settings":   func(p *post) { p.pages.opt.Mail = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			change(p)
			b := p.browser(near)
			b.get("/account/reset")
			if strings.Contains(b.page, "Mail me a link") {
				t.Error("the page offers a mail")
			}
			wantDone(t, "a request", b.send("/account/reset/mail", "email", "ann@example.org"), "/account/reset")
			if len(p.pages.mailer.queue) > 0 {
				t.Error("a request is in the queue")
			}
		})
	}
	p := newPost(t)
	b := p.browser(near)
	b.origin = public
	for _, email := range []string{"", "ann", strings.Repeat("a", 50) + "@b.c"} {
		b.get("/account/reset")
		wantRefused(t, email, b.send("/account/reset/mail", "email", email), http.StatusUnprocessableEntity, "not an e-mail address")
	}
	wantDone(t, "GET", b.get("/account/reset/mail"), "/account/reset")
}
