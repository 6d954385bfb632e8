package gpsp

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/storage"
)

// startFrom is startPipe with connections from any address.
func startFrom(t testing.TB, change func(*Options)) (*fixture, func(from string) *client) {
	t.Helper()
	ln := nettest.NewPipes()
	f := newFixture(t, change)
	f.serve(t, ln)
	return f, func(from string) *client {
		conn, err := ln.DialFrom(netip.MustParseAddrPort(from))
		if err != nil {
			t.Fatal(err)
		}
		return newClient(t, conn)
	}
}

const tooMany = `\error\\err\3328\errmsg\too many requests, try again in a minute\final\`

func TestLookupsHaveAQuotaPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, from := startFrom(t, nil)
		f.populate(t)
		c := from("192.0.2.1:1")
		for i := range defaults().Lookups {
			if got := c.ask(askValid); got != validYes {
				t.Fatalf("look-up %d: %q, want %q", i+1, got, validYes)
			}
		}
		for text, want := range map[string]string{
			askValid: tooMany,
			`\nicks\\email\alice@example.com\pass\secret\final\`:                           tooMany,
			`\check\\nick\Alice\email\alice@example.com\pass\secret\final\`:                `\cur\3584\final\`,
			`\search\\nick\Bob\final\`:                                                     tooMany,
			`\searchunique\\uniquenick\BobU\namespaces\1\final\`:                           tooMany,
			`\uniquesearch\\preferrednick\Zed\namespaceid\1\final\`:                        tooMany,
			`\pmatch\\productid\11\final\`:                                                 tooMany,
			`\others\\sesskey\70001\profileid\1001\final\`:                                 tooMany,
			`\otherslist\\sesskey\70001\profileid\1001\opids\1\final\`:                     tooMany,
			`\profilelist\\sesskey\70001\profileid\1001\searchprofileid\1\final\`:          tooMany,
			`\newuser\\nick\N\email\n@example.com\pass\n\namespaceid\0\partnerid\0\final\`: `\nur\0\pid\1012\final\`,
		} {
			if got := c.ask(text); got != want {
				t.Errorf("%s over the quota: %q, want %q", text, got, want)
			}
		}
		if got := from("192.0.2.1:2").ask(askValid); got != tooMany {
			t.Errorf("another connection from there: %q, want %q", got, tooMany)
		}
		if got := from("192.0.2.2:1").ask(askValid); got != validYes {
			t.Errorf("another address: %q, want %q", got, validYes)
		}
		if got := metrictest.Dropped(t, f.metrics, droppedQuota.Error()); got != 11 {
			t.Errorf("%v were counted as over the quota, want 11", got)
		}
		time.Sleep(defaults().Idle / 2)
		for i := range defaults().Lookups / 2 {
			if got := c.ask(askValid); got != validYes {
				t.Fatalf("look-up %d half a minute later: %q, want %q", i+1, got, validYes)
			}
		}
		if got := c.ask(askValid); got != tooMany {
			t.Errorf("look-up %d half a minute later: %q, want %q", defaults().Lookups/2+1, got, tooMany)
		}
	})
}

func TestEmailsHaveAQuotaPerNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, from := startFrom(t, nil)
		f.populate(t)
		const each = 100
		asked := 0
		for host := 1; asked < defaults().ValidPerNet; host++ {
			c := from(fmt.Sprintf("192.0.2.%d:1", host))
			for range each {
				if got := c.ask(askValid); got != validYes {
					t.Fatalf("question %d of the network: %q, want %q", asked+1, got, validYes)
				}
				asked++
			}
		}
		c := from("192.0.2.200:1")
		if got := c.ask(askValid); got != tooMany {
			t.Errorf("question %d of the network: %q, want %q", asked+1, got, tooMany)
		}
		if got := metrictest.Dropped(t, f.metrics, droppedNetQuota.Error()); got != 1 {
			t.Errorf("%v were counted as over the quota of a network, want 1", got)
		}
		if got := c.ask(`\search\\nick\Bob\final\`); got == tooMany {
			t.Error("a search counts as a question about an e-mail")
		}
		if got := from("192.0.3.1:1").ask(askValid); got != validYes {
			t.Errorf("another network: %q, want %q", got, validYes)
		}
	})
}

func TestRegistrationsHaveAQuotaPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, from := startFrom(t, nil)
		register := func(i int) string {
			return fmt.Sprintf(`\newuser\\nick\N\email\n%d@example.com\pass\n\namespaceid\0\partnerid\0\final\`, i)
		}
		c := from("[2001:db8::1]:1")
		for i := 1; i <= defaults().Registrations; i++ {
			if got, want := c.ask(register(i)), fmt.Sprintf(`\nur\0\pid\%d\final\`, i); got != want {
				t.Fatalf("registration %d: %q, want %q", i, got, want)
			}
		}
		if got := c.ask(register(100)); got != `\nur\512\final\` {
			t.Errorf("registration over the quota: %q", got)
		}
		if got := from("[2001:db8::2]:1").ask(register(101)); got != `\nur\512\final\` {
			t.Errorf("registration from the same /64: %q", got)
		}
		if got, want := from("[2001:db8:0:1::1]:1").ask(register(102)), fmt.Sprintf(`\nur\0\pid\%d\final\`, defaults().Registrations+1); got != want {
			t.Errorf("registration from another /64: %q, want %q", got, want)
		}
		if got := c.ask(askUnknown); got != validNo {
			t.Errorf("look-up after the registrations: %q, want %q", got, validNo)
		}
		if _, err := f.store.UserByEmail(t.Context(), 0, "n100@example.com"); err == nil {
			t.Error("what was refused was registered")
		}
		time.Sleep(time.Second)
		if got, want := c.ask(register(103)), fmt.Sprintf(`\nur\0\pid\%d\final\`, defaults().Registrations+2); got != want {
			t.Errorf("registration a second later: %q, want %q", got, want)
		}
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted := netip.Addr{}
		f, from := startFrom(t, func(o *Options) {
			o.Lookups, o.Trusted = 1, func(a netip.Addr) bool { return a == trusted }
		})
		c := from("192.0.2.1:1")
		ask := func(want ...string) {
			t.Helper()
			for i, w := range want {
				if got := c.ask(askUnknown); got != w {
					t.Errorf("look-up %d: %q, want %q", i+1, got, w)
				}
			}
		}
		ask(validNo, tooMany)
		f.reload(func(c *Config) { c.Lookups = 2 })
		ask(validNo, validNo, tooMany)
		f.reload(func(c *Config) { c.Lookups = 1 })
		trusted = netip.MustParseAddr("192.0.2.1")
		ask(validNo, validNo, validNo)
		trusted = netip.Addr{}
		f.reload(func(c *Config) { c.Lookups = 0 })
		ask(validNo, validNo, validNo)
		f.reload(func(c *Config) { c.Private = true })
		ask(validYes)
	})
}

// Refused requests cost other clients nothing: many addresses together have no quota.
func TestNoQuotaOverAllAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, from := startFrom(t, func(o *Options) { o.Lookups = 1 })
		for i := range 500 {
			c := from(fmt.Sprintf("198.51.%d.%d:1", i/200, i%200))
			if got := c.ask(askUnknown); got != validNo {
				t.Fatalf("address %d: %q, want %q", i, got, validNo)
			}
			_ = c.conn.Close()
		}
	})
}

func TestGuessedPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, from := startFrom(t, nil)
		f.account(t, "alice@example.com", "secret", storage.Profile{ID: 1, Nick: "Alice"}, nil)
		guesser, owner := from("192.0.2.1:1"), from("192.0.2.2:1")
		const right = `\check\\nick\Alice\email\alice@example.com\pass\secret\final\`
		for range 20 {
			guesser.ask(`\check\\nick\Alice\email\alice@example.com\pass\wrong\final\`)
		}
		if got := guesser.ask(right); got != `\cur\3584\final\` {
			t.Errorf("the right password after 20 wrong ones: %q", got)
		}
		if got := guesser.ask(`\nicks\\email\alice@example.com\pass\secret\final\`); got != `\nr\0\ndone\\final\` {
			t.Errorf("nicks after 20 wrong passwords: %q", got)
		}
		if got := owner.ask(right); got != `\cur\0\pid\1\final\` {
			t.Errorf("the owner from elsewhere: %q", got)
		}
	})
}

// The original client opens a connection for each request.
func TestQuotaBeforeConnectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, from := startFrom(t, func(o *Options) { o.Rate = 20 })
		for i := range defaults().Lookups + defaults().Registrations {
			c := from("192.0.2.1:1")
			want := validNo
			if i >= defaults().Lookups {
				want = tooMany
			}
			if got := c.ask(askUnknown); got != want {
				t.Fatalf("look-up %d: %q, want %q", i+1, got, want)
			}
			_ = c.conn.Close()
			synctest.Wait() // it is no longer counted as open
		}
	})
}
