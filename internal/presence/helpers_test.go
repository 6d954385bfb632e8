package presence

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// peer is a session that records the events that it received.
type peer struct {
	profile storage.ProfileID
	user    storage.UserID
	key     int32
	room    int // how many events fit; negative: any number
	from    netip.AddrPort

	mu     sync.Mutex // guards the fields below
	events []Event
	kicked []error
}

func (p *peer) Profile() storage.ProfileID { return p.profile }
func (p *peer) User() storage.UserID       { return p.user }
func (p *peer) Key() int32                 { return p.key }
func (p *peer) Client() Client             { return Client{Game: "gmtest", Peer: p.from} }

func (p *peer) Deliver(e Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.room >= 0 && len(p.events) >= p.room {
		return false
	}
	p.events = append(p.events, e)
	return true
}

func (p *peer) Kick(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kicked = append(p.kicked, reason)
}

// all returns the events that heard would return.
func (p *peer) all() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events
}

// heard returns the events that the peer received since the last call.
func (p *peer) heard() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// reasons returns why the peer was kicked.
func (p *peer) reasons() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kicked
}

// noMail is the mailboxes of a store that has none.
type noMail struct{}

func (noMail) Leave(context.Context, storage.ProfileID, storage.Message) error { return nil }

func (noMail) Return(context.Context, storage.ProfileID, []storage.Message) (int, error) {
	return 0, nil
}

// world is a hub over a store with profiles 1 to n, each of a user of its own
// with the same number.
type world struct {
	*Local
	store *records.Store
}

func newWorld(t testing.TB, n int) world {
	t.Helper()
	store := storetest.New(t)
	for i := 1; i <= n; i++ {
		_, p, err := store.CreateUser(context.Background(), storage.User{Email: fmt.Sprintf("%d@b.c", i)}, storage.Profile{Nick: "N"})
		if err != nil || p.ID != storage.ProfileID(i) {
			t.Fatalf("profile %d: %+v, %v", i, p, err)
		}
	}
	return world{New(store, Options{}), store}
}

// watch puts each of the others on the list of owner.
func (w world) watch(t testing.TB, owner storage.ProfileID, others ...storage.ProfileID) {
	t.Helper()
	for _, other := range others {
		if err := w.store.AddBuddy(context.Background(), owner, other); err != nil {
			t.Fatal(err)
		}
	}
}

func newPeer(id int) *peer {
	return &peer{profile: storage.ProfileID(id), user: storage.UserID(id), key: int32(1000 + id), room: -1}
}

// enter signs a peer in with the status "Online".
func (w world) enter(t testing.TB, p *peer, policy Policy) []Session {
	t.Helper()
	displaced, err := w.SignIn(context.Background(), p, policy, online())
	if err != nil {
		t.Fatalf("SignIn(%d) = %v", p.profile, err)
	}
	return displaced
}

func online() Status { return Status{State: Online, Text: "Online"} }

// changed is the event of a status.
func changed(id int, st Status) Event { return StatusChanged{storage.ProfileID(id), st} }
