package presence

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// base is the store of a cluster in memory.
type base struct {
	*storagetest.SessionModel

	mu       sync.Mutex // guards the fields below
	down     error
	slow     time.Duration // that reading watchers takes
	watchers map[storage.ProfileID][]storage.ProfileID
	mailbox  map[storage.ProfileID][]storage.Message
}

func (b *base) Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) {
		b.mu.Lock()
		list, err, slow := slices.Clone(b.watchers[id]), b.down, b.slow
		b.mu.Unlock()
		time.Sleep(slow)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(0, err)
			return
		}
		for _, w := range list {
			if !yield(w, nil) {
				return
			}
		}
	}
}

func (b *base) Leave(_ context.Context, to storage.ProfileID, m storage.Message) error {
	_, err := b.Return(context.Background(), to, []storage.Message{m})
	return err
}

func (b *base) Return(_ context.Context, to storage.ProfileID, messages []storage.Message) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return 0, b.down
	}
	for _, m := range messages {
		i := slices.IndexFunc(b.mailbox[to], func(w storage.Message) bool { return m.Number != 0 && w.Number > m.Number })
		if i < 0 {
			i = len(b.mailbox[to])
		}
		b.mailbox[to] = slices.Insert(b.mailbox[to], i, m)
	}
	return len(messages), nil
}

// fail stops the whole store; nil: it works again.
func (b *base) fail(err error) {
	b.Fail(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

// delay makes reading watchers slow.
func (b *base) delay(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slow = d
}

// mail returns the texts that wait for a profile.
func (b *base) mail(id storage.ProfileID) (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mailbox[id] {
		texts = append(texts, m.Text)
	}
	return texts
}

// towns are the nodes of a cluster in a bubble of synctest.
type towns struct {
	t     *testing.T
	net   *clustertest.Net
	base  *base
	hubs  map[string]*Clustered
	links map[string]*link
	stop  map[string]func()
}

func newTowns(t *testing.T, names ...string) *towns {
	t.Helper()
	w := &towns{t: t, net: clustertest.New(t, names...), hubs: make(map[string]*Clustered), links: make(map[string]*link), stop: make(map[string]func()), base: &base{
		SessionModel: storagetest.NewSessionModel(),
		watchers:     make(map[storage.ProfileID][]storage.ProfileID), mailbox: make(map[storage.ProfileID][]storage.Message),
	}}
	for _, name := range names {
		w.start(name)
	}
	t.Cleanup(func() {
		for _, stop := range w.stop {
			stop()
		}
	})
	synctest.Wait()
	return w
}

// start starts a hub on the running bus of a node.
func (w *towns) start(name string) {
	w.t.Helper()
	w.links[name] = &link{Sessions: w.base}
	c := NewClustered(New(w.base, Options{Log: zerolog.Nop()}), ClusterOptions{
		Bus: w.net.Bus(name), Sessions: w.links[name], Log: zerolog.Nop(),
	})
	if err := c.Begin(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { c.Run(ctx) })
	w.hubs[name] = c
	w.stop[name] = func() { cancel(); done.Wait() }
}

// kill ends a node as a crash does.
func (w *towns) kill(name string) {
	w.net.Kill(name)
	w.stop[name]()
	delete(w.stop, name)
	delete(w.hubs, name)
	synctest.Wait()
}

// restart starts a killed node again.
func (w *towns) restart(name string) {
	w.net.Start(name)
	w.start(name)
	synctest.Wait()
}

// watch puts each of the others on the list of owner.
func (w *towns) watch(owner storage.ProfileID, others ...storage.ProfileID) {
	for _, other := range others {
		w.base.watchers[other] = append(w.base.watchers[other], owner)
	}
}

// enter signs a peer in at a node.
func (w *towns) enter(node string, p *peer, policy Policy) {
	w.t.Helper()
	if _, err := w.hubs[node].SignIn(context.Background(), p, policy, online()); err != nil {
		w.t.Fatalf("SignIn(%d) at %s = %v", p.profile, node, err)
	}
	settle()
}

// settle waits until the other nodes know the changes so far.
func settle() {
	time.Sleep(cluster.Collect)
	synctest.Wait()
}

// wantKicked fails unless a peer was kicked for the reasons, each once.
func wantKicked(t *testing.T, what string, p *peer, want ...error) {
	t.Helper()
	if diff := cmp.Diff(want, p.reasons(), cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: reasons (-want +got):\n%s", what, diff)
	}
}

// wantEvents is wantHeard without the receipts of events, which it settles.
func wantEvents(t *testing.T, what string, p *peer, want ...Event) {
	t.Helper()
	var got []Event
	for _, e := range p.heard() {
		ReceiptOf(e).Settle()
		got = append(got, withReceipt(e, nil))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: profile %d heard (-want +got):\n%s", what, p.profile, diff)
	}
}

func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// link is the way of one node to the rows.
type link struct {
	storage.Sessions

	mu    sync.Mutex // guards the fields below
	err   error      // the rows cannot be reached; nil: they can
	after func()     // called when a session has its row
}

func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *link) hook(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after = f
}

func (l *link) state() (after func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.after, l.err
}

func (l *link) EnterSession(ctx context.Context, s storage.LiveSession) (uint64, []storage.LiveSession, error) {
	after, err := l.state()
	if err != nil {
		return 0, nil, err
	}
	fence, displaced, err := l.Sessions.EnterSession(ctx, s)
	if after != nil {
		after()
	}
	return fence, displaced, err
}

func (l *link) Beat(ctx context.Context, node string, run, after uint64, mail storage.Mail) (storage.Pulse, error) {
	if _, err := l.state(); err != nil {
		return storage.Pulse{}, err
	}
	return l.Sessions.Beat(ctx, node, run, after, mail)
}

func (l *link) LeaveSessions(ctx context.Context, run uint64, ids []uint64) error {
	if _, err := l.state(); err != nil {
		return err
	}
	return l.Sessions.LeaveSessions(ctx, run, ids)
}
