package presence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

const (
	// beatEvery is the interval at which a node shows the store that it lives, and
	// learns which of its sessions were displaced.
	beatEvery = 2 * time.Second
	// beatAgain is that while the store or another node cannot be reached.
	beatAgain = time.Second
	// beatTime is the time limit of a beat, and lostBeats how many must have failed until
	// players cannot sign in: packets may be lost.
	beatTime  = 2 * time.Second
	lostBeats = 3
	// wakePause is the shortest time between two beats.
	wakePause = 250 * time.Millisecond
	// deadFor is how long a node that is not on the bus must have made no beat until it
	// counts as dead. It may live and reach neither: then messages are stored that it delivered.
	deadFor = 3 * beatEvery
	// goneFor is how long a node must have been silent, in the store and in the
	// cluster, until another one removes its sessions from the store.
	goneFor = 10 * time.Minute
	// endsOverlap is how long after an end became known earlier ones may still become
	// visible: a step of the store takes less.
	endsOverlap = 30 * time.Second
	// keepEnds is how long ends of accounts stay in the store, for nodes that cannot
	// reach it. It is checked every keepEndsStep.
	keepEnds     = 48 * time.Hour
	keepEndsStep = time.Hour
)

// errTwin reports that a later process of the same name has begun.
var errTwin = errors.New("another process has begun as this node: two nodes have the same cluster.node")

// pulse is a node's view of the rows of the store.
type pulse struct {
	restores atomic.Uint64 // how often the sessions were restored
	wake     chan struct{}
	restore  sync.Mutex // held while sessions are restored

	// Of the goroutine that beats.

	failures int             // of beats, since the last one that worked
	highest  uint64          // highest fence of an end
	recent   []mark          // values of highest within endsOverlap
	safe     uint64          // no unknown end has a lower fence
	old      []mark          // of ends that will be swept
	lives    map[string]life // of the other nodes
}

// life is what a node said with its last beat.
type life struct {
	storage.NodeRun

	at time.Time // when it was seen first, or the node was on the bus
}

// mark is a number at a time.
type mark struct {
	n  uint64
	at time.Time
}

func (p *pulse) begin(run uint64) {
	p.wake = make(chan struct{}, 1)
	p.highest, p.safe = run, run
}

// beatNow makes the next beat come at once.
func (p *pulse) beatNow() { wake.Up(p.wake) }

// know notes the fence of an end.
func (p *pulse) know(fence uint64, now time.Time) {
	if fence > p.highest {
		p.highest = fence
		p.recent = append(p.recent, mark{fence, now})
	}
}

// forget moves safe on.
func (p *pulse) forget(now time.Time) {
	for len(p.recent) > 0 && now.Sub(p.recent[0].at) >= endsOverlap {
		p.safe, p.recent = p.recent[0].n, p.recent[1:]
	}
}

// beatOften beats until ctx ends.
func (c *Clustered) beatOften(ctx context.Context) {
	t := time.NewTimer(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.pulse.wake:
			if !clock.Pause(ctx, wakePause) {
				return
			}
		case <-t.C:
		}
		err := c.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		c.noteStore(err)
		c.askHeld(heldLong)
		t.Reset(beatEvery)
		if err != nil || c.cut.Load() {
			t.Reset(beatAgain)
		}
	}
}

// noteStore notes whether the rows can be used. A failure may be a lost packet, or a lock that
// another node held while it was cut off.
func (c *Clustered) noteStore(err error) {
	c.pulse.failures++
	if err == nil {
		c.pulse.failures = 0
	} else if c.pulse.failures < lostBeats {
		c.log.Debug().Err(err).Msg("the database of the cluster is slow")
		return
	}
	was := c.down.Swap(err != nil)
	switch {
	case err != nil && !was:
		c.log.Error().Err(err).Msg("players cannot sign in: the database of the cluster does not work; those who are signed in stay")
	case err == nil && was:
		c.log.Info().Msg("the database of the cluster works again")
		wake.Up(c.own.wake)
	}
}

// beat shows that this node lives, and handles the reply.
func (c *Clustered) beat(ctx context.Context) error {
	step, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	now := time.Now()
	mail := c.mail.get()
	p, err := c.rows.Beat(step, c.bus.Self(), c.run.Load(), c.pulse.safe, mail)
	switch {
	case errors.Is(err, storage.ErrTaken):
		return errTwin
	case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrNotFound):
		return c.restore(ctx)
	case err != nil:
		for node, l := range c.pulse.lives {
			c.pulse.lives[node] = life{l.NodeRun, now} // it may have been unable to beat too
		}
		return err
	}
	for _, id := range p.Displaced {
		c.displace(id)
	}
	for _, e := range p.Ends {
		c.end(e)
		c.pulse.know(e.Fence, now)
	}
	c.pulse.forget(now)
	c.mail.beaten(mail)
	c.followRuns(ctx, p.Runs, now)
	c.sweepEnds(ctx, now)
	return nil
}

// followRuns handles the beats of the other nodes.
func (c *Clustered) followRuns(ctx context.Context, runs []storage.NodeRun, now time.Time) {
	before := c.pulse.lives
	c.pulse.lives = make(map[string]life, len(runs))
	onBus, cut, all := c.bus.Nodes(), false, false
	for _, r := range runs {
		if r.Run == c.run.Load() {
			continue
		}
		was, known := before[r.Node]
		is := life{r, now}
		if !slices.Contains(onBus, r.Node) {
			if known && was.Run == r.Run && was.Beats == r.Beats {
				is.at = was.at
			}
			cut = cut || now.Sub(is.at) < deadFor
		}
		c.pulse.lives[r.Node] = is
		to, missed := newMail(&was.NodeRun, &r)
		for _, id := range to {
			c.deliver(id, MessagesWaiting{})
		}
		all = all || missed
		c.endSilent(ctx, is, now)
	}
	if c.cut.Store(cut); all {
		c.showMailboxes()
	}
	for node := range c.post.kept(0) {
		if was, is := before[node], c.pulse.lives[node]; !slices.Contains(onBus, node) && isDead(was, is, now) {
			c.died(node)
		}
	}
}

// isDead reports whether a node that is not on the bus is dead: its run has ended, another one
// has begun, or its beats are over.
func isDead(was, is life, now time.Time) bool {
	return is.Run == 0 || was.Run != 0 && was.Run != is.Run || now.Sub(is.at) >= deadFor
}

// restore brings the sessions of this node back into the store, which has lost them,
// and ends those that newer ones displaced.
func (c *Clustered) restore(ctx context.Context) error {
	c.pulse.restore.Lock()
	defer c.pulse.restore.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*storeTime)
	defer cancel()
	run := c.run.Load()
	c.pulse.restores.Add(1)
	rows := c.own.rows(run)
	n := len(rows)
	for {
		part := rows[:min(len(rows), storage.MaxSessionsAtOnce)]
		rows = rows[len(part):]
		displaced, err := c.rows.RestoreSessions(ctx, c.bus.Self(), run, part)
		if errors.Is(err, storage.ErrTaken) {
			return errTwin
		}
		if err != nil {
			return err
		}
		for _, id := range displaced {
			c.displace(id)
		}
		if len(rows) == 0 {
			break
		}
	}
	c.log.Warn().Int("sessions", n).Msg("the database had lost the sessions of this node; they are restored")
	return nil
}

// endSilent removes the sessions of a node that has been dead for long.
func (c *Clustered) endSilent(ctx context.Context, l life, now time.Time) {
	if now.Sub(l.at) < goneFor {
		return
	}
	if err := c.rows.EndRun(ctx, l.Run); err == nil {
		c.log.Info().Str("node", l.Node).Msg("the sessions of a dead node were removed")
	}
}

// sweepEnds removes ends that every node has seen or missed.
func (c *Clustered) sweepEnds(ctx context.Context, now time.Time) {
	p := &c.pulse
	if n := len(p.old); n == 0 || now.Sub(p.old[n-1].at) >= keepEndsStep {
		p.old = append(p.old, mark{p.highest, now})
	}
	if now.Sub(p.old[0].at) < keepEnds {
		return
	}
	if _, err := c.rows.SweepEnds(ctx, p.old[0].n); err == nil {
		p.old = p.old[1:]
	}
}
