package accounts

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// twoServices are the services of two nodes on one store.
func twoServices(t *testing.T) (a, b *Service) {
	t.Helper()
	net := clustertest.New(t, "a", "b")
	model := storetest.Shared()
	services := make([]*Service, 2)
	for i, name := range []string{"a", "b"} {
		s := newService(nil, nil, Options{})
		t.Cleanup(s.Share(model, net.Bus(name)))
		services[i] = s
	}
	return services[0], services[1]
}

func TestTicketsOfAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoServices(t)
		ticket := a.Grants.IssueTicket(7)
		if id, err := b.Grants.CheckTicket(ticket); id != 7 || err != nil {
			t.Errorf("CheckTicket() elsewhere = %d, %v", id, err)
		}
		if _, err := b.Grants.CheckTicket("another"); !errors.Is(err, ErrBadTicket) {
			t.Errorf("CheckTicket() of an unknown one = %v, want ErrBadTicket", err)
		}
		if err := b.Grants.tickets.use(ticket); err != nil {
			t.Errorf("use() = %v", err)
		}
		if err := a.Grants.tickets.use(ticket); !errors.Is(err, ErrBadTicket) {
			t.Errorf("second use() = %v, want ErrBadTicket", err)
		}
		token := a.Grants.IssueToken(7, 0, false)
		if g, err := b.Grants.tokens.find(token.Value, time.Now()); err != nil || g.challenge != token.Challenge {
			t.Errorf("find() of a token = %+v, %v", g, err)
		}
		later := a.Grants.IssueTicket(8)
		time.Sleep(TicketLife)
		if _, err := b.Grants.CheckTicket(later); !errors.Is(err, ErrExpiredTicket) {
			t.Errorf("CheckTicket() of an old one = %v, want ErrExpiredTicket", err)
		}
		fresh := a.Grants.IssueTicket(8)
		b.Grants.Revoke(8)
		if _, err := a.Grants.CheckTicket(fresh); !errors.Is(err, ErrBadTicket) {
			t.Errorf("CheckTicket() of a revoked one = %v, want ErrBadTicket", err)
		}
	})
}

func TestFailuresOfAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoServices(t)
		from, u := netip.MustParseAddr("192.0.2.1"), &storage.User{ID: 7}
		for range MaxFailures {
			if !b.guard.refuses(from, 7, time.Now()) {
				a.guard.wrong(from, 7, time.Now())
				synctest.Wait()
			}
		}
		if !b.guard.refuses(from, 7, time.Now()) || b.guard.refuses(from, 8, time.Now()) {
			t.Error("the failures at one node are not those of the other")
		}
		a.guard.succeeded(from, 7)
		synctest.Wait()
		if b.guard.refuses(from, 7, time.Now()) {
			t.Error("a success at one node does not count at the other")
		}
		for range MaxAddressFailures {
			b.guard.failed(from, 0, time.Now())
		}
		synctest.Wait()
		if !a.guard.refuses(from, 0, time.Now()) {
			t.Error("failures of an address at one node do not count at the other")
		}
		for range MaxAccountFailures {
			a.guard.note(failure{What: wrongPassword, User: 7}, time.Now())
		}
		synctest.Wait()
		if !b.guard.accounts.Empty(u.ID, time.Now()) {
			t.Error("wrong passwords at one node do not count at the other")
		}
	})
}

func TestQuotaOfAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoServices(t)
		var counted []netip.Addr
		spent := a.ShareQuota("gpcm", func(netip.Addr) { t.Error("what a node allows itself came back") })
		b.ShareQuota("gpcm", func(from netip.Addr) { counted = append(counted, from) })
		b.ShareQuota("gpsp", func(netip.Addr) { t.Error("the quota of another service was counted") })
		want := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
		for _, from := range append(want, netip.Addr{}) {
			spent(from)
		}
		synctest.Wait()
		if !slices.Equal(counted, want) {
			t.Errorf("counted %v, want %v", counted, want)
		}
		(&Service{}).ShareQuota("gpcm", nil)(want[0]) // a node that is alone
	})
}

func TestFailuresOfNodes(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.1")
	for _, f := range []failure{{failedLogin, at, 7}, {succeededLogin, at, 8}, {What: wrongPassword, User: 9}, {What: attempted, User: 10}} {
		if !f.valid() {
			t.Errorf("%+v is refused", f)
		}
	}
	for _, f := range []failure{{}, {What: failedLogin, User: 7}, {wrongPassword, at, 7}, {attempted + 1, at, 7}, {failedLogin, at, storage.MaxAccountID + 1}} {
		if f.valid() {
			t.Errorf("%+v is accepted", f)
		}
	}
}
