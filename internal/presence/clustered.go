package presence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// Subjects of messages between nodes.
const (
	subject     = "presence"
	subjectEnds = "presence.ends"
)

const (
	// storeTime is the time limit of one step of the store that a sign-in waits for.
	storeTime = 5 * time.Second
	// signInLocks is the number of locks that put the sign-ins of one user in order.
	signInLocks = 256
)

// ClusterOptions configure a Clustered. Bus and Sessions are required.
type ClusterOptions struct {
	Bus      cluster.Bus
	Sessions storage.Sessions

	Registerer prometheus.Registerer
	Log        zerolog.Logger
}

// Clustered is the hub of a node of a cluster: a Local for the players of this node,
// a cluster.Map with the players of the others, and rows in the store that decide which
// session of a player is the newest. See doc.go.
type Clustered struct {
	*Local
	bus     cluster.Bus
	rows    storage.Sessions
	log     zerolog.Logger
	metrics *clusterMetrics

	run    atomic.Uint64 // of this node, in the rows
	lastID atomic.Uint64 // of a session
	down   atomic.Bool   // the rows cannot be used
	users  [signInLocks]chan struct{}

	// publishing is held while the state of a profile is read and sent, so that the
	// other nodes get the states in their order. It comes before Local.mu and own.mu.
	publishing sync.Mutex
	// telling is held for writing while a change on another node is reported to watchers, and
	// for reading by those who read a status and deliver it.
	telling  sync.RWMutex
	far      *cluster.Map[storage.ProfileID, *far] // the players, by nodes
	sessions atomic.Int64                          // of the other nodes

	nodes nodes
	kicks *cluster.Call[storage.AccountEnd, int] // their answers are numbers of sessions

	own   ownSessions
	ends  seenEnds
	post  post
	chore chores
	pulse pulse

	mail mailbag
	cut  atomic.Bool // a node that lives cannot be reached
}

var _ Hub = (*Clustered)(nil)

// NewClustered returns a hub over local, which is not used by itself from then on.
// Begin has to be called before a session signs in.
func NewClustered(local *Local, opt ClusterOptions) *Clustered {
	c := &Clustered{Local: local, bus: opt.Bus, rows: opt.Sessions, log: opt.Log}
	local.wide = c
	for i := range c.users {
		c.users[i] = make(chan struct{}, 1)
	}
	c.own = newOwnSessions()
	c.far = newFar(opt, c.changed)
	c.nodes = newNodes()
	c.kicks = cluster.NewCall(opt.Bus, subjectEnds, c.handleEnd)
	c.post = newPost()
	c.chore = newChores()
	c.ends.seen = make(map[uint64]struct{})
	c.metrics = newClusterMetrics(opt.Registerer, c)
	return c
}

// Begin makes this node known in the store. The error is the store's.
func (c *Clustered) Begin(ctx context.Context) error {
	run, err := c.rows.BeginRun(ctx, c.bus.Self())
	if err != nil {
		return fmt.Errorf("sessions of node %s: %w", c.bus.Self(), err)
	}
	c.run.Store(run)
	c.pulse.begin(run)
	return nil
}

// Run keeps in step with the other nodes and with the store until ctx ends. It
// returns after all its goroutines, and ends the run of this node in the store.
func (c *Clustered) Run(ctx context.Context) {
	cancels := []func(){
		c.bus.Subscribe(subject, c.receive),
		c.kicks.Serve(),
	}
	var all sync.WaitGroup
	for _, f := range []func(context.Context){c.far.Run, c.follow, c.beatOften, c.doChores, c.leaveRows, c.sendSettled, c.Local.Run} {
		all.Go(func() { f(ctx) })
	}
	<-ctx.Done()
	all.Wait()
	for _, cancel := range cancels {
		cancel()
	}
}

// End is that of Local, and ends the run of this node in the store. It is called after
// the last session has signed out.
func (c *Clustered) End() error {
	_ = c.Local.End() // it returns nil
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if run := c.run.Load(); run != 0 {
		return c.rows.EndRun(ctx, run)
	}
	return nil
}

// SignIn implements Hub. The rows in the store come first: they decide between two
// sign-ins on two nodes.
func (c *Clustered) SignIn(ctx context.Context, s Session, p Policy, st Status) ([]Session, error) {
	switch {
	case c.down.Load():
		return nil, ErrNoStore
	case !c.mayEnter(s, p):
		return nil, ErrFull
	case c.own.has(s):
		return nil, ErrSignedIn
	}
	unlock, err := c.lockUser(ctx, s.User())
	if err != nil {
		return nil, err
	}
	defer unlock()
	o := &ownSession{session: s, id: c.lastID.Add(1), displaces: displaces(p)}
	c.own.expect(o)
	others, err := c.enterRow(ctx, o)
	if err != nil {
		c.leave(o)
		return nil, fmt.Errorf("%w: %w", ErrNoStore, err)
	}
	displaced, gone, err := c.enter(s, p, st, o.fence)
	if err != nil {
		c.leave(o)
		return nil, err
	}
	for _, old := range displaced {
		if c.own.take(old) {
			old.Kick(ErrDisplaced)
		}
	}
	c.Local.metrics.displaced.Add(float64(len(displaced)))
	for _, id := range gone {
		c.announceGone(ctx, id)
	}
	err = c.Local.announce(ctx, s.Profile())
	c.kickElsewhere(s.Profile(), others)
	if over := c.arrived(o); over != nil {
		c.endOwn(o, over)
	}
	if err != nil {
		return displaced, fmt.Errorf("notify watchers of profile %d: %w", s.Profile(), err)
	}
	return displaced, nil
}

// displaces returns a policy as the rows have it.
func displaces(p Policy) storage.Displaces {
	switch p {
	case KickUser:
		return storage.DisplacesUser
	case Allow:
		return storage.DisplacesNone
	default:
		return storage.DisplacesProfile
	}
}

// lockUser puts the sign-ins of one user at this node in order, the same for the
// rows and for Local.
func (c *Clustered) lockUser(ctx context.Context, id storage.UserID) (unlock func(), err error) {
	lock := c.users[int(id)%len(c.users)]
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrNoStore, ctx.Err())
	}
}

func (c *Clustered) enterRow(ctx context.Context, o *ownSession) ([]storage.LiveSession, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	restored := c.pulse.restores.Load()
	fence, others, err := c.rows.EnterSession(ctx, o.row(c.run.Load()))
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
		if err = c.restore(ctx); err == nil {
			restored = c.pulse.restores.Load()
			fence, others, err = c.rows.EnterSession(ctx, o.row(c.run.Load()))
		}
	}
	if err != nil {
		return nil, err
	}
	c.own.setFence(o, fence)
	if restored != c.pulse.restores.Load() { // the row may have been lost after it was made
		over, err := c.rows.RestoreSessions(ctx, c.bus.Self(), c.run.Load(), []storage.LiveSession{o.row(c.run.Load())})
		if err != nil {
			return nil, err
		}
		for _, id := range over {
			c.displace(id)
		}
	}
	return others, nil
}

// SignOut implements Hub.
func (c *Clustered) SignOut(ctx context.Context, s Session) {
	was, last := c.dropOne(s)
	switch {
	case was && last:
		c.announceGone(ctx, s.Profile())
	case was:
		c.publish(s.Profile(), note{})
	}
	if o := c.own.get(s); o != nil {
		c.leave(o)
	}
}

// SetInvitable implements Hub.
func (c *Clustered) SetInvitable(ctx context.Context, s Session, products []int) error {
	err := c.Local.SetInvitable(ctx, s, products)
	if err == nil {
		c.publish(s.Profile(), note{})
	}
	return err
}

// announce sends the state of a profile to the other nodes and, if it is news,
// notifies the watchers on all nodes. The order lock of the profile is held.
func (c *Clustered) announce(ctx context.Context, id storage.ProfileID, news bool) error {
	if !news {
		c.publish(id, note{})
		return nil
	}
	watchers, err := c.watchers(ctx, id)
	if err != nil {
		c.forgetTold(id)
		c.publish(id, note{})
		c.owe(id, true)
		return err
	}
	c.publish(id, note{flags: flagTold, watchers: watchers})
	c.tellHere(id, watchers)
	return nil
}

func (c *Clustered) watchers(ctx context.Context, id storage.ProfileID) (list []storage.ProfileID, err error) {
	for w, err := range c.store.Watchers(ctx, id) {
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// tellHere delivers the status of a profile to those of the watchers that are signed
// in on this node.
func (c *Clustered) tellHere(id storage.ProfileID, watchers []storage.ProfileID) {
	c.telling.RLock()
	defer c.telling.RUnlock()
	c.tell(id, watchers, 0)
}

// publish sends the state that a profile has on this node to the other nodes, with a
// note. It never waits.
func (c *Clustered) publish(id storage.ProfileID, n note) {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	if len(n.watchers) > maxWireWatchers {
		n.watchers, n.flags = nil, n.flags&^flagTold
	}
	if f := c.describe(id); f != nil {
		c.far.PutNote(id, f, n.append())
	} else {
		c.far.DeleteNote(id, n.append())
	}
}

// describe returns the state of a profile on this node, nil if it is not signed in.
func (c *Clustered) describe(id storage.ProfileID) *far {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.profiles[id]
	if p == nil {
		return nil
	}
	f := &far{profile: id, user: p.sessions[0].User(), status: p.status, invitable: p.invitable}
	for _, s := range p.sessions {
		f.sessions = append(f.sessions, farSession{fence: c.own.fenceOf(s), key: s.Key(), client: s.Client()})
	}
	return f
}

func (c *Clustered) header(k kind) []byte {
	return appendHeader(make([]byte, 0, 256), k, c.bus.Incarnation(c.bus.Self()))
}

// toAll sends a message to the other nodes. Losses are reported by OnLoss of the receivers.
func (c *Clustered) toAll(b []byte) {
	if err := c.bus.Publish(subject, b); err != nil && !errors.Is(err, cluster.ErrClosed) {
		c.metrics.unsent.Inc()
	}
}

func (c *Clustered) to(node string, b []byte) error {
	err := c.bus.Send(node, subject, b)
	if err != nil && !errors.Is(err, cluster.ErrClosed) {
		c.metrics.unsent.Inc()
	}
	return err
}

// kickElsewhere has the other nodes end sessions that a profile displaced, after they have its
// new one. They would find them in the store a little later, as they do if there are many.
func (c *Clustered) kickElsewhere(id storage.ProfileID, sessions []storage.LiveSession) {
	var n note
	for _, s := range sessions {
		if s.Run != c.run.Load() && len(n.displaced) < maxWireIDs {
			n.displaced = append(n.displaced, s.Run, s.ID)
		}
	}
	if len(n.displaced) > 0 {
		c.publish(id, n)
	}
}
