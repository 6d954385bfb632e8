package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
)

// Subjects of the Bus itself.
const (
	subjectBeat = "bus.beat"
	subjectHere = "bus.here" // instead of a heartbeat, before Announce
	subjectWho  = "bus.who"
	subjectBye  = "bus.bye"
	subjectPing = "bus.ping"
)

// twinWarn is the interval at which a second node with the name of this one is
// logged.
const twinWarn = time.Minute

// Beat is the payload of a heartbeat, as JSON.
type Beat struct {
	Version string            `json:"version,omitempty"`
	Schema  int               `json:"schema,omitempty"`
	To      map[string]uint64 `json:"to,omitempty"` // numbers of the last messages to single nodes
}

// maxVersion is the maximum length of a version in bytes.
const maxVersion = 64

// peer is another node. It is kept after it left, so that losses meanwhile are noticed. It is
// guarded by Bus.mu.
type peer struct {
	name        string
	incarnation uint64
	live        bool
	heard       time.Time
	next        [streams]uint64 // numbers of the next messages; 0: not known
	missed      bool            // messages came while it was not live
	beat        Beat
	offset, rtt time.Duration // of its clock, and of a ping; valid if pinged
	pinged      bool
	ctx         context.Context // ends when it leaves
	end         context.CancelFunc
}

// accept handles a message of another node. b.mu is held.
func (b *Bus) accept(from, subject string, stream int, f frame, data []byte) {
	if from == b.opt.Node {
		b.twinHeard(subject, f)
		return
	}
	p := b.peers[from]
	if p != nil && f.incarnation < p.incarnation && p.live {
		b.metrics.drop(dropStranger)
		return
	}
	if p == nil || p.incarnation != f.incarnation {
		if subject == subjectWho || subject == subjectHere {
			b.starts(from, subject)
			return
		}
		if subject != subjectBeat || !b.meet(from, f, data) {
			b.metrics.drop(dropStranger)
			return
		}
		p = b.peers[from]
	}
	gap := p.next[stream] != 0 && f.number > p.next[stream]
	if f.number < p.next[stream] {
		b.metrics.drop(dropMalformed) // it was reported as lost
		return
	}
	p.next[stream] = f.number + 1
	if gap {
		p.missed = true
	}
	if !p.live && subject != subjectBeat {
		p.missed = p.missed || !internal(subject)
		b.metrics.drop(dropStranger)
		return
	}
	p.heard = time.Now()
	switch subject {
	case subjectBeat:
		b.beaten(p, data)
	case subjectWho:
		b.beatSoon()
	case subjectBye:
		b.left(p, "goodbye")
	}
	if p.missed && p.live {
		p.missed = false
		b.lost(from)
	}
	if !internal(subject) {
		b.deliver(subject, message{from, data})
	}
}

func internal(subject string) bool {
	return subject == subjectBeat || subject == subjectHere || subject == subjectWho || subject == subjectBye
}

// starts notes that a node is there which is not live yet. b.mu is held.
func (b *Bus) starts(from, subject string) {
	if b.joining && len(b.starting) < maxNodes {
		b.starting[from] = struct{}{}
	}
	if subject == subjectWho {
		b.beatSoon()
	}
}

// meet notes a new node or incarnation, which sent a heartbeat.
func (b *Bus) meet(name string, f frame, data []byte) bool {
	old := b.peers[name]
	if old == nil && len(b.peers) >= maxNodes-1 && !b.dropOldest() {
		return false
	}
	if old != nil {
		old.end()
	}
	p := &peer{name: name, incarnation: f.incarnation}
	p.end = func() {}
	p.next[streamAll] = f.number
	if beat, ok := parseBeat(data); ok {
		p.next[streamTo] = beat.To[b.opt.Node] + 1
	}
	b.peers[name] = p
	if old != nil && old.live {
		b.log.Info().Str("node", name).Msg("a node of the cluster restarted")
	}
	return true
}

// dropOldest forgets a node that left, to make room for another.
func (b *Bus) dropOldest() bool {
	var oldest *peer
	for _, p := range b.peers {
		if !p.live && (oldest == nil || p.heard.Before(oldest.heard)) {
			oldest = p
		}
	}
	if oldest == nil {
		return false
	}
	delete(b.peers, oldest.name)
	b.out.forget(oldest.name)
	return true
}

func parseBeat(data []byte) (beat Beat, ok bool) {
	if err := json.Unmarshal(data, &beat); err != nil {
		return Beat{}, false
	}
	beat.Version = beat.Version[:min(len(beat.Version), maxVersion)]
	return beat, true
}

func (b *Bus) beaten(p *peer, data []byte) {
	beat, ok := parseBeat(data)
	if !ok {
		b.metrics.drop(dropMalformed)
		return
	}
	next := beat.To[b.opt.Node] + 1 // all before this heartbeat have arrived or are lost
	if p.next[streamTo] != next {
		p.missed = true
	}
	p.next[streamTo] = next
	beat.To = nil
	p.beat = beat
	if p.live {
		return
	}
	p.live = true
	p.ctx, p.end = context.WithCancel(b.ctx)
	b.log.Info().Str("node", p.name).Str("version", beat.Version).Msg("a node of the cluster appeared")
	if beat.Schema != b.opt.Schema && beat.Schema != 0 && b.opt.Schema != 0 {
		b.log.Warn().Str("node", p.name).Int("schema", beat.Schema).Int("own", b.opt.Schema).
			Msg("a node of the cluster knows another version of the database schema; update the older one")
	}
	b.relist()
	b.beatSoon()
}

// left removes a node from the live ones.
func (b *Bus) left(p *peer, why string) {
	if !p.live {
		return
	}
	p.live = false
	p.end()
	b.log.Warn().Str("node", p.name).Str("reason", why).Msg("a node of the cluster is gone")
	b.relist()
}

// relist makes the list of live nodes.
func (b *Bus) relist() {
	nodes := []string{b.opt.Node}
	for _, p := range b.peers {
		if p.live {
			nodes = append(nodes, p.name)
		}
	}
	slices.Sort(nodes)
	b.nodes = nodes
	close(b.changed)
	b.changed = make(chan struct{})
}

// twinHeard handles a message of another node with the name of this one. The one that
// started first has the name; the other one stays out of the cluster until it is alone.
func (b *Bus) twinHeard(subject string, f frame) {
	b.metrics.drop(dropTwin)
	if subject == subjectWho && !b.joining {
		b.beatSoon()
	}
	if subject != subjectBeat || f.incarnation > b.incarnation && !b.joining {
		return
	}
	now := time.Now()
	b.twin = now
	for _, p := range b.peers {
		b.left(p, "cluster.node is taken")
	}
	if now.Sub(b.warned) >= twinWarn && !b.joining {
		b.warned = now
		b.log.Error().Str("cluster.node", b.opt.Node).
			Msg("another node of the cluster has the name of this one and started earlier; this one stays out of the cluster: give it another name and restart it")
	}
}

// apart reports whether this node stays out of the cluster. b.mu is held.
func (b *Bus) apart(now time.Time) bool { return !b.twin.IsZero() && now.Sub(b.twin) < b.opt.Silence }

// join asks who is there until all nodes that are connected have answered: live ones are in Nodes
// then. It returns an error if one of them has the name of this one.
func (b *Bus) join(ctx context.Context) error {
	wanted, connected := b.otherPeers(), 0
	for began := time.Now(); ; {
		_ = b.Publish(subjectWho, nil)
		if !clock.Pause(ctx, askEvery) {
			return ctx.Err()
		}
		if b.server != nil {
			connected = max(connected, b.server.NumRoutes())
		}
		answers, waited := b.answers(), time.Since(began)
		if answers >= max(wanted, connected) || waited > joinWait && answers >= connected || waited > answerWait {
			break
		}
	}
	taken := b.twinAnswers(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.joining, b.starting = false, nil
	if taken || b.apart(time.Now()) {
		return fmt.Errorf("cluster.node: another node of the cluster is called %q", b.opt.Node)
	}
	return nil
}

// otherPeers returns how many other nodes there should be: with an external NATS, which does not
// tell how many are connected, one.
func (b *Bus) otherPeers() (n int) {
	if b.server == nil {
		return 1
	}
	for _, peer := range b.opt.Peers {
		if peer != b.opt.Listen {
			n++
		}
	}
	return n
}

// twinAnswers reports whether another node with the name of this one answers. If none is
// connected, NATS replies at once. A busy one may be too slow for a heartbeat within answerWait.
func (b *Bus) twinAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Silence)
	defer cancel()
	self := b.opt.Node
	m, err := b.conn.RequestWithContext(ctx, b.prefix+"ask."+self+"."+self+"."+subjectPing, question{b.incarnation, b.opt.Silence}.encode(nil))
	if err != nil {
		return false
	}
	var what outcome
	_, err = what.decode(m.Data)
	return err == nil && what == answered
}

// answers returns how many other nodes are known to be there.
func (b *Bus) answers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.nodes) - 1
	for node := range b.starting {
		if !slices.Contains(b.nodes, node) {
			n++
		}
	}
	if !b.twin.IsZero() {
		n++
	}
	return n
}

// beatSoon sends a heartbeat now.
func (b *Bus) beatSoon() { wake.Up(b.soon) }

// beat sends heartbeats, and notices nodes that are silent, until the Bus closes.
func (b *Bus) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	b.sendBeat()
	last := time.Now()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.soon:
			b.sendBeat()
			if !clock.Pause(b.ctx, beatEvery/10) { // others may want many
				return
			}
			continue
		case <-tick.C:
		}
		now := time.Now()
		b.sendBeat()
		b.checkSilence(now, now.Sub(last) > b.opt.Silence/2)
		last = now
	}
}

// checkSilence removes silent nodes. After a pause of this process none counts as silent yet: their
// messages still wait.
func (b *Bus) checkSilence(now time.Time, paused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.peers {
		switch {
		case paused:
			p.heard = now
		case p.live && now.Sub(p.heard) > b.opt.Silence:
			b.left(p, "silence")
		}
	}
}

func (b *Bus) sendBeat() {
	b.mu.Lock()
	apart := b.apart(time.Now())
	b.mu.Unlock()
	switch {
	case apart:
		return
	case !b.announced.Load():
		_ = b.Publish(subjectHere, nil)
		return
	}
	err := b.out.put("", "all."+b.opt.Node+"."+subjectBeat, 0, func(number uint64, to map[string]uint64) []byte {
		data, err := json.Marshal(Beat{Version: b.opt.Version, Schema: b.opt.Schema, To: to})
		if err != nil {
			data = nil // numbers and texts can always be marshalled
		}
		return frame{b.incarnation, number}.encode(data)
	})
	if err != nil {
		b.metrics.drop(dropUnsent)
	}
}
