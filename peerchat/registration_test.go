package peerchat

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

const userLine = "USER X1lsaFvqsX|7 127.0.0.1 peerchat.gamespy.com :Real name"

func TestSignOn(t *testing.T) {
	f := start(t, nil)
	f.signOn("Taken")
	for _, v := range []struct {
		name string
		send []string
		want []string // the last one is the first line of the welcome
	}{
		{"user first", []string{userLine, "NICK Ann"}, []string{":s 001 Ann :Welcome to the chat, Ann"}},
		{"nick first", []string{"NICK :Ann", userLine}, []string{":s 001 Ann :Welcome to the chat, Ann"}},
		{"address first", []string{"USRIP", userLine, "NICK Ann"}, []string{":s 302  :=+@127.0.0.1", ":s 001 Ann :Welcome to the chat, Ann"}},
		{"prefix, case and spaces", []string{":Eve!e@e user  X1lsaFvqsX|7  a b  :Real", "nick   Ann  "}, []string{":s 001 Ann :Welcome to the chat, Ann"}},
		{"own nick without an account", []string{userLine, "NICK *", "NICK Ann"}, []string{":s 709 * :No unique nick", ":s 001 Ann :Welcome to the chat, Ann"}},
		{
			"nick in use",
			[]string{userLine, "NICK tAKEN", "NICK :Ann"},
			[]string{":s 433 * tAKEN :Nickname is already in use", ":s 001 Ann :Welcome to the chat, Ann"},
		},
		{
			"reserved nick",
			[]string{userLine, "NICK Ann-GS", "NICK Ann"},
			[]string{":s 433 * Ann-GS :Nickname is already in use", ":s 001 Ann :Welcome to the chat, Ann"},
		},
		{
			"bad nicks",
			[]string{userLine, "NICK #ann", "NICK a\\b", "NICK a!b", "NICK abcdefghijklmnopqrstu", "NICK", "NICK abcdefghijklmnopqrst"},
			[]string{
				":s 432 * #ann :Erroneous nickname", ":s 432 * a\\b :Erroneous nickname", ":s 432 * a!b :Erroneous nickname",
				":s 432 * abcdefghijklmnopqrstu :Erroneous nickname", ":s 431 * :No nickname given",
				":s 001 abcdefghijklmnopqrst :Welcome to the chat, abcdefghijklmnopqrst",
			},
		},
		{
			"too early",
			[]string{"JOIN #a", "PRIVMSG #a :x", "XYZ", "USER a", "USER !!! b c :d", userLine, "NICK Ann"},
			[]string{
				":s 451 * :You have not registered", ":s 451 * :You have not registered", ":s 421 * XYZ :Unknown Command",
				":s 461 * USER :Not enough parameters", ":s 461 * USER :Not enough parameters", ":s 001 Ann :Welcome to the chat, Ann",
			},
		},
	} {
		t.Run(v.name, func(t *testing.T) {
			for _, encrypted := range []bool{false, true} {
				c := f.connect()
				if encrypted {
					c.encrypt()
				}
				c.send(v.send...)
				c.want(v.want...)
				c.nick = strings.Fields(v.want[len(v.want)-1])[2]
				if got := c.ask("CRYPT des 1 "+testGame, userLine, "LOGIN 1 a b", "LOGINPREAUTH a b", "REGISTERNICK 1 a b")[4:]; len(got) != 5 ||
					strings.Count(strings.Join(got, "\n"), " 462 ") != 5 {
					t.Errorf("a second sign-on: %q", got)
				}
				c.send("QUIT :Later!")
				c.wantEnd("Later!")
			}
		})
	}
}

func TestUserHost(t *testing.T) {
	outside := netip.MustParseAddr("203.0.113.7")
	f := start(t, func(o *Options) { o.Given = func(netip.Addr) netip.Addr { return outside } })
	c := f.connect()
	c.expect("USRIP", ":s 302  :=+@203.0.113.7")
	c.signOn("Ann")
	c.expect("USRIP", ":s 302 Ann :Ann=+Ann@203.0.113.7")
	c.expect("USERHOST aNN", ":s 302 Ann :Ann=+Ann@203.0.113.7")
	c.expect("USERHOST Bob", ":s 302 Ann :")
	bob := f.signOn("Bob")
	c.expect("USERHOST Bob", ":s 302 Ann :Bob=+Bob@"+bob.user().mask)
	if bob.user().mask != c.user().mask || strings.Contains(bob.masked(), "203.0") || strings.Contains(bob.masked(), "127.0") {
		t.Errorf("masks %q and %q", bob.masked(), c.masked())
	}
}

func TestLogin(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	f.register("Bob", 0)
	token := f.accounts.Grants.IssueToken(ann.ID, 0, false)
	good := md5hex(testPassword)
	for _, v := range []struct {
		name, send, want string
		nick, welcome    string
	}{
		{"unique nick", "LOGIN 1 Ann " + good, ":s 707 Ann 1 1", "*", "Ann-gs"},
		{"unique nick in capitals", "LOGIN 1 ANN " + strings.ToUpper(good), ":s 707 Ann 1 1", "*", "Ann-gs"},
		{"profile", "LOGIN 0 * " + good + " :Ann@ann@example.com", ":s 707 * 1 1", "Annie", "Annie"},
		{"profile with a namespace", "LOGIN 1 * " + good + " :Ann@ann@example.com", ":s 707 Ann 1 1", "*", "Ann-gs"},
		{"own nick spelled out", "LOGIN 1 Ann " + good, ":s 707 Ann 1 1", "aNN-gS", "aNN-gS"},
		{"token", "LOGINPREAUTH " + token.Value + " " + token.Challenge, ":s 707 Ann 1 1", "*", "Ann-gs"},
		{"wrong password", "LOGIN 1 Ann " + md5hex("x"), ":s 708 * :Login failed: the password is wrong", "", ""},
		{"no password", "LOGIN 1 Ann :", ":s 708 * :Login failed", "", ""},
		{"unknown nick", "LOGIN 1 Eve " + good, ":s 708 * :Login failed", "", ""},
		{"bad namespace", "LOGIN x Ann " + good, ":s 708 * :Login failed", "", ""},
		{"negative namespace", "LOGIN -1 Ann " + good, ":s 708 * :Login failed", "", ""},
		{"without e-mail", "LOGIN 0 * " + good, ":s 708 * :Login failed", "", ""},
		{"bad token", "LOGINPREAUTH nothing x", ":s 708 * :Login failed: the token is not valid", "", ""},
		{"token with a wrong challenge", "LOGINPREAUTH " + token.Value + " x", ":s 708 * :Login failed", "", ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			c := f.connect()
			c.encrypt()
			got := c.ask(v.send)
			if len(got) != 1 || !strings.HasPrefix(got[0], v.want) {
				t.Fatalf("received %q, want %q", got, v.want)
			}
			if v.nick == "" {
				if got := c.ask("NICK *"); got[0] != ":s 709 * :No unique nick" {
					t.Errorf("signed in all the same: %q", got)
				}
				return
			}
			c.send(userLine, "NICK "+v.nick)
			c.welcomed(v.welcome)
			if field := c.user().field; field != "X1lsaFvqsX|1" {
				t.Errorf("user field %q, want that of the profile", field)
			}
			c.send("QUIT")
			c.wantEnd("Quit")
		})
	}
}

func TestLogin_twice(t *testing.T) {
	f := start(t, nil)
	f.register("Ann", testNamespace)
	c := f.connect()
	c.send("LOGIN 1 Ann " + md5hex(testPassword))
	c.want(":s 707 Ann 1 1")
	if got := c.ask("LOGIN 1 Ann " + md5hex(testPassword)); !strings.HasPrefix(got[0], ":s 708 ") {
		t.Errorf("received %q", got)
	}
	if f.server.hall.users.Load() != 0 {
		t.Error("in the hall before the sign-on")
	}
}

func TestLogin_limits(t *testing.T) {
	f := start(t, nil)
	f.register("Ann", testNamespace)
	c := f.connect()
	for range maxLogins - 1 {
		c.expect("LOGIN 1 Ann", ":s 461 * LOGIN :Not enough parameters")
		if got := c.ask("LOGIN 1 Ann " + md5hex("wrong")); !strings.HasPrefix(got[0], ":s 708 ") {
			t.Fatalf("received %q", got)
		}
	}
	c.send("LOGIN 1 Ann " + md5hex("wrong"))
	c.wantEnd("Too many failed logins")
	if n := f.dropped(endedLogins); n != 1 {
		t.Errorf("counted %d times", n)
	}
	t.Run("throttled", func(t *testing.T) {
		throttled := 0
		for range 40 {
			c := f.connect()
			if got := c.ask("LOGIN 1 Ann " + md5hex("wrong")); strings.Contains(got[0], accounts.ErrThrottled.Error()) {
				throttled++
			}
		}
		if throttled == 0 {
			t.Error("wrong passwords without end")
		}
	})
	t.Run("lines before the sign-on", func(t *testing.T) {
		c := f.connect()
		for range maxBeforeLogin {
			c.send("PONG")
		}
		c.send("PONG")
		c.wantEnd("Too many failed logins")
	})
}

func TestRegisterNick(t *testing.T) {
	f := start(t, nil)
	f.register("Ann", testNamespace)
	f.register("Bob", 0)
	c := f.connect()
	c.expect("REGISTERNICK 1 Bobby", `:s 711 * 0 \ :Log in first`)
	c.expect("REGISTERNICK x Bobby key", `:s 711 * 0 \ :Log in first`)
	c.send("LOGIN 1 * " + md5hex(testPassword) + " :Bob@bob@example.com")
	c.want(":s 707 * 2 2")
	c.send(userLine, "NICK *")
	c.want(":s 709 * :No unique nick")
	got := c.ask("REGISTERNICK 1 Ann 0")
	words := strings.Fields(got[0])
	if len(got) != 1 || words[1] != "711" || words[3] != "3" || strings.Count(words[4], `\`) != 3 || strings.Contains(words[4]+`\`, `\Ann\`) {
		t.Errorf("received %q", got)
	}
	if got := c.ask("REGISTERNICK 1 a:b\\c 0"); !strings.Contains(got[0], " 711 ") {
		t.Errorf("received %q", got)
	}
	c.send("REGISTERNICK 1 Bobby 0")
	c.welcomed("Bobby-gs")
	c.expect("REGISTERNICK 1 Bobby 0", ":s 462 Bobby-gs :You may not reregister")
}

// TestDisplace: a session of the same player makes room, one of another player that
// has the same unique nick in another namespace does not.
func TestDisplace(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	first := f.logIn(ann)
	mate := f.signOn("Mate")
	mate.join("#room")
	first.join("#room")
	mate.want(first.own() + " JOIN :#room")
	old := first.own()
	second := f.logIn(ann)
	first.wantEnd("Duplicate Login")
	mate.want(old + " QUIT :Duplicate Login")
	second.expect("WHO mate", ":s 352 Ann-gs * Mate "+mate.user().mask+" s Mate H :0 Real name", ":s 315 Ann-gs mate :End of WHO list")

	third := f.connect() // by the profile, under another nick
	third.send("LOGIN 0 * "+md5hex(testPassword)+" :Ann@ann@example.com", userLine, "NICK Annie")
	third.want(":s 707 * 1 1")
	third.welcomed("Annie")
	second.wantEnd("Duplicate Login")

	other, err := f.accounts.Users.Register(t.Context(), accounts.Registration{
		Namespace: 2, Email: "other@example.com", Nick: "Ann", UniqueNick: "Ann", Password: testPassword, From: netip.MustParseAddr("127.0.0.1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	stranger := f.connect()
	stranger.send("LOGIN 2 Ann "+md5hex(testPassword), userLine, "NICK *")
	stranger.want(":s 707 Ann 2 " + formatID(uint32(other.ID)))
	stranger.welcomed("Ann-gs") // it is free now
	third.expect("NICK Ann-gs", ":s 433 Annie Ann-gs :Nickname is already in use")
	stranger.quiet()
}

// TestDisplaced_command: a command of a session that is being displaced is not carried
// out, so that no member stays behind.
func TestDisplaced_command(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	for range 20 {
		first := f.logIn(ann)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 200 {
				if first.trySend("JOIN #ghost\r\nPART #ghost\r\nJOIN #ghost\r\n") != nil {
					return
				}
			}
		}()
		second := f.logIn(ann)
		<-done
		_ = first.conn.Close()
		f.server.hall.check(t)
		second.send("QUIT")
		second.want("ERROR :Closing Link: " + second.nick + " (Quit)")
		_ = second.conn.Close() // the service waits for a pause before it closes
	}
	eventually(t, "empty", func() bool { return f.server.Members("#ghost") == 0 })
}

// TestAccountChanges: the end of an account ends its chat; another session of the same
// profile, and changes of other accounts, do not.
func TestAccountChanges(t *testing.T) {
	for _, v := range []struct {
		name, text string
		change     func(*fixture, storage.Profile) error
	}{
		{"banned", "The account is banned", func(f *fixture, p storage.Profile) error {
			if err := f.accounts.Users.Ban(f.t.Context(), p.User, time.Time{}, "", "test"); err != nil {
				return err
			}
			f.hub.KickUser(f.t.Context(), p.User, presence.ErrBanned)
			return nil
		}},
		{"password", "The password was changed", func(f *fixture, p storage.Profile) error {
			if err := f.accounts.Passwords.Change(f.t.Context(), p.User, "another"); err != nil {
				return err
			}
			f.hub.KickUser(f.t.Context(), p.User, presence.ErrDisplaced)
			return nil
		}},
		{"deleted", "The profile was deleted", func(f *fixture, p storage.Profile) error {
			f.hub.KickProfile(f.t.Context(), p.ID, presence.ErrDeleted)
			return f.accounts.Users.Delete(f.t.Context(), p.User)
		}},
		{"kicked", "Signed out by the operator", func(f *fixture, p storage.Profile) error {
			f.hub.KickUser(f.t.Context(), p.User, presence.ErrKicked)
			return nil
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			f := start(t, nil)
			ann, bob := f.register("Ann", testNamespace), f.register("Bob", testNamespace)
			a, b := f.logIn(ann), f.logIn(bob)
			if err := v.change(f, ann); err != nil {
				t.Fatal(err)
			}
			a.wantEnd(v.text)
			b.quiet()
		})
	}
	t.Run("banned before the login", func(t *testing.T) {
		f := start(t, nil)
		ann := f.register("Ann", testNamespace)
		if err := f.accounts.Users.Ban(t.Context(), ann.User, time.Time{}, "", "test"); err != nil {
			t.Fatal(err)
		}
		c := f.connect()
		if got := c.ask("LOGIN 1 Ann " + md5hex(testPassword)); got[0] != ":s 708 * :Login failed: "+accounts.ErrBanned.Error() {
			t.Errorf("received %q", got)
		}
	})
	for _, v := range []struct {
		name    string
		refusal error
		change  func(*fixture, storage.Profile) error
	}{
		{"banned after the proof", accounts.ErrBanned, func(f *fixture, p storage.Profile) error {
			return f.accounts.Users.Ban(f.t.Context(), p.User, time.Time{}, "", "test")
		}},
		{"password after the proof", accounts.ErrBadPassword, func(f *fixture, p storage.Profile) error {
			return f.accounts.Passwords.Change(f.t.Context(), p.User, "another")
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			var f *fixture
			var ann storage.Profile
			f = start(t, func(o *Options) {
				attach := o.Attach
				o.Attach = func(a presence.Attached) func() {
					if err := v.change(f, ann); err != nil {
						t.Errorf("change: %v", err)
					}
					return attach(a)
				}
			})
			ann = f.register("Ann", testNamespace)
			c := f.connect()
			for range 2 { // a refused client is not signed in
				if got := c.ask("LOGIN 1 Ann " + md5hex(testPassword)); got[0] != ":s 708 * :Login failed: "+v.refusal.Error() {
					t.Errorf("received %q", got)
				}
			}
			if n := f.hub.KickUser(t.Context(), ann.User, presence.ErrKicked); n != 0 {
				t.Errorf("%d sessions of a refused client", n)
			}
		})
	}
	t.Run("before the sign-on", func(t *testing.T) {
		f := start(t, nil)
		ann := f.register("Ann", testNamespace)
		c := f.connect()
		c.send("LOGIN 1 Ann " + md5hex(testPassword))
		c.want(":s 707 Ann 1 1")
		f.hub.KickUser(f.t.Context(), ann.User, presence.ErrBanned)
		c.wantEnd("The account is banned")
	})
}
