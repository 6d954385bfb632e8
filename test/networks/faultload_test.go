//go:build linux && netns

package networks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// The load of a cluster.
const (
	serversPerNode = 8
	heartbeatEvery = 700 * time.Millisecond
	sayEvery       = 100 * time.Millisecond
	listEvery      = 250 * time.Millisecond
	writeEvery     = 400 * time.Millisecond // of each writer
)

// settledAfter is the time after which every list must have a new server.
var settledAfter = func() time.Duration {
	if isTimed() {
		return 3 * time.Second
	}
	return 8 * time.Second // faults last longer
}()

// faultLoad is the traffic of clients in a cluster during a fault.
type faultLoad struct {
	w       *faultWorld
	ctx     context.Context
	stop    context.CancelFunc
	clients sync.WaitGroup
	unread  []atomic.Bool // by node: nothing is expected of it now

	servers []*gameServer
	pairs   []*pair
	lists   []*listWatch // by node

	mu      sync.Mutex // guards the fields below
	truth   map[string]rig.Fact
	written []int // by node
	refused []refusals
	round   int
}

// refusals are the writes that a node refused.
type refusals struct {
	n       int
	longest time.Duration
	last    error
}

// newFaultLoad starts all clients.
func newFaultLoad(w *faultWorld) *faultLoad {
	w.t.Helper()
	l := &faultLoad{w: w, truth: make(map[string]rig.Fact), unread: make([]atomic.Bool, 3), written: make([]int, 3), refused: make([]refusals, 3)}
	w.load = l
	l.ctx, l.stop = context.WithCancel(w.t.Context())
	w.t.Cleanup(func() { l.stop(); l.clients.Wait() })
	rig.Typed(w.t, w.Nodes[0].CliEnv(), rig.StormPassword, "account", "create", // profile 1, which others block
		"--email", "anchor@example.com", "--nick", "anchor", "--uniquenick", "anchor", "--password-stdin")
	for i := range w.Nodes {
		for k := range serversPerNode {
			l.servers = append(l.servers, l.addServer(i, fmt.Sprintf("Server %d of %s", k, w.Nodes[i].Name)))
		}
	}
	for i := range w.Nodes {
		for _, k := range w.except(i) {
			l.pairs = append(l.pairs, l.addPair(i, k))
		}
	}
	for i := range w.Nodes {
		watch := &listWatch{l: l, node: i}
		l.lists = append(l.lists, watch)
		l.clients.Go(watch.run)
		l.startWriters(i)
	}
	w.within(rig.Hang, "the first lists and writes", func() error {
		for i := range w.Nodes {
			l.mu.Lock()
			written := l.written[i]
			l.mu.Unlock()
			if written == 0 {
				return fmt.Errorf("nothing is written on node %d", i)
			}
			if _, missing := l.lists[i].state(); missing != "" {
				return fmt.Errorf("list of node %d: %s", i, missing)
			}
		}
		for _, p := range l.pairs { // faults are seen by those who talk already
			p.mu.Lock()
			heard := len(p.heard)
			p.mu.Unlock()
			if heard == 0 {
				return fmt.Errorf("%s has heard nothing", p.to.name)
			}
		}
		return nil
	})
	return l
}

// gameServer reports to a node until its cluster or it ends.
type gameServer struct {
	qr2.Host
	conn *net.UDPConn
	name string
	l    *faultLoad

	node     atomic.Int32
	optional atomic.Bool  // lists may lack it
	since    atomic.Int64 // when it was confirmed first, in ns; 0: not yet
	quit     context.CancelFunc
	ended    chan struct{}
}

func (l *faultLoad) addServer(node int, name string) *gameServer {
	l.w.t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(serverAddr, 0)))
	rig.Must(l.w.t, err)
	l.w.t.Cleanup(func() { _ = conn.Close() })
	s := &gameServer{conn: conn, name: name, l: l, ended: make(chan struct{})}
	s.Host = qr2.Host{Game: rig.TestGame, Secret: rig.TestSecret, Private: netip.MustParseAddrPort("192.168.7.7:6500"), NATNeg: true}
	s.reportTo(node)
	s.Instance = 0xA0000000 | uint32(conn.LocalAddr().(*net.UDPAddr).Port)
	ctx, cancel := context.WithCancel(l.ctx)
	s.quit = cancel
	l.clients.Go(func() {
		defer close(s.ended)
		s.run(ctx)
	})
	return s
}

// reportTo has the server report to another node from its next heartbeat on.
func (s *gameServer) reportTo(node int) { s.node.Store(int32(node)) }

// key returns the address in lists.
func (s *gameServer) key() string { return s.conn.LocalAddr().String() }

// MustLeave ends the server, which says so.
func (s *gameServer) MustLeave() {
	s.quit()
	<-s.ended
}

func (s *gameServer) run(ctx context.Context) {
	at, state := int32(-1), qr2.StateStarts
	for n := 0; ctx.Err() == nil; n++ {
		if node := s.node.Load(); node != at {
			at, state = node, qr2.StateStarts
			s.Packets = netclient.New(s.conn, s.l.w.Nodes[node].Address["qr2"], 1<<13)
		}
		s.Rules = []qr2.Rule{{Name: "hostname", Value: s.name}, {Name: "numplayers", Value: strconv.Itoa(n % 8)}}
		_ = s.Heartbeat(state) // the node may be gone
		state = qr2.StateSame
		pause, cancel := context.WithTimeout(ctx, heartbeatEvery)
		for pause.Err() == nil {
			r, err := s.Receive(pause)
			switch {
			case err != nil:
				<-time.After(time.Millisecond) // the node refuses packets, or the pause is over
			case r.Kind == qr2.KindChallenge:
				_ = s.Send(qr2.AppendResponse(nil, s.Instance, s.Secret, r.Body))
			case r.Kind == qr2.KindRegistered:
				s.since.CompareAndSwap(0, time.Now().UnixNano())
			}
		}
		cancel()
	}
	_ = s.Leave()
}

// wanted returns the servers that every list should have, and all that it may have.
func (l *faultLoad) wanted() (must, may map[string]bool) {
	l.mu.Lock()
	all := slices.Clone(l.servers)
	l.mu.Unlock()
	must, may = make(map[string]bool), make(map[string]bool)
	for _, s := range all {
		may[s.key()] = true
		if since := s.since.Load(); since != 0 && !s.optional.Load() && time.Since(time.Unix(0, since)) > settledAfter {
			must[s.key()] = true
		}
	}
	return must, may
}

// drop removes servers from the expected lists.
func (l *faultLoad) drop(gone ...*gameServer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = slices.DeleteFunc(l.servers, func(s *gameServer) bool { return slices.Contains(gone, s) })
}

// newServer adds a server and returns when it is registered.
func (l *faultLoad) newServer(node int, name string) *gameServer {
	l.w.t.Helper()
	s := l.addServer(node, name)
	s.optional.Store(l.unread[node].Load()) // others may not hear of it
	l.mu.Lock()
	l.servers = append(l.servers, s)
	l.mu.Unlock()
	l.w.within(rig.Hang, "registration of "+name, func() error {
		if s.since.Load() == 0 {
			return errors.New("it is not confirmed")
		}
		return nil
	})
	return s
}

// serverOf returns the n-th server that reported to a node at first.
func (l *faultLoad) serverOf(node, n int) *gameServer { return l.servers[node*serversPerNode+n] }

// listWatch asks a node for its list all the time.
type listWatch struct {
	l    *faultLoad
	node int

	mu         sync.Mutex // guards the fields below
	asked      int
	failed     int
	missing    string        // the fault of the last list; empty: none
	since      time.Time     // since when something has been
	longest    time.Duration // that something was missing without a break
	incomplete int           // lists
}

func (l *listWatch) run() {
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	for l.l.ctx.Err() == nil {
		select {
		case <-l.l.ctx.Done():
			return
		case <-tick.C:
		}
		if l.l.unread[l.node].Load() {
			continue
		}
		want, may := l.l.wanted()
		rows, err := l.l.w.listOf(l.node)
		if l.l.unread[l.node].Load() || l.l.ctx.Err() != nil {
			continue
		}
		l.note(want, may, rows, err)
	}
}

func (l *listWatch) note(want, may map[string]bool, rows map[string]map[string]string, err error) {
	missing := ""
	for a := range want {
		if rows[a] == nil {
			missing += " without " + a
		}
	}
	for a := range rows {
		if !may[a] {
			missing += " with ghost " + a
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if err != nil {
		l.failed++
		missing = err.Error()
	}
	if missing != "" {
		l.incomplete++
		if l.since.IsZero() {
			l.since = time.Now()
		}
		l.longest = max(l.longest, time.Since(l.since))
	} else {
		l.since = time.Time{}
	}
	l.missing = missing
}

// state returns the number of lists received, and the error of the last one.
func (l *listWatch) state() (asked int, missing string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == 0 {
		return 0, "none came yet"
	}
	return l.asked, l.missing
}

// reset discards the measurements.
func (l *listWatch) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.failed, l.incomplete, l.longest, l.since, l.missing = 0, 0, 0, 0, time.Time{}, "none came yet"
}

// summary describes the measurements since reset.
func (l *listWatch) summary() (longest time.Duration, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest, fmt.Sprintf("%d lists, %d failed, %d incomplete, longest gap %v", l.asked, l.failed, l.incomplete, l.longest.Round(10*time.Millisecond))
}

// complete waits until nodes have a list that is right.
func (w *faultWorld) complete(limit time.Duration, nodes ...int) time.Duration {
	w.t.Helper()
	took := time.Duration(0)
	for _, i := range nodes {
		watch := w.load.lists[i]
		before, _ := watch.state()
		took = max(took, w.within(limit, "complete list of "+w.Nodes[i].Name, func() error {
			asked, missing := watch.state()
			if missing != "" || asked == before {
				return fmt.Errorf("%d lists: %s", asked-before, missing)
			}
			return nil
		}))
	}
	return took
}

// listOf returns the list of a node by address.
func (w *faultWorld) listOf(node int) (rows map[string]map[string]string, err error) {
	ctx, cancel := context.WithTimeout(w.load.ctx, 5*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", w.Nodes[node].Address["serverbrowse"].String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	c := serverbrowse.NewClient(conn, rig.TestSecret)
	request := serverbrowse.NewRequest(rig.TestGame, "", `\hostname`, 0)
	request.Challenge = [8]byte([]byte("gOFezpUs"))
	c.SetChallenge(request.Challenge)
	message, err := request.AppendTo(nil)
	if err == nil {
		err = c.Send(ctx, message)
	}
	if err != nil {
		return nil, err
	}
	reply, err := c.Reply(ctx, 0)
	return rig.RowsOf(reply), err
}

// startWriters has operators, players and visitors change things on a node until the load
// ends.
func (l *faultLoad) startWriters(node int) {
	n := l.w.Nodes[node]
	l.mu.Lock()
	l.round++
	round := l.round
	l.mu.Unlock()
	for i, w := range rig.StormWriters() {
		if w.Name == "the sealing key" { // the nodes share it
			continue
		}
		s := &rig.Storm{At: n.Address, Op: n.Client(n.Dir)}
		l.clients.Go(func() { l.Write(node, s, w, fmt.Sprintf("r%dw%dn", round, i)) })
	}
}

func (l *faultLoad) Write(node int, s *rig.Storm, w rig.StormWriter, prefix string) {
	child := l.w.Nodes[node].Child
	for n := 0; ; n++ {
		began := time.Now()
		facts, err := w.Write(l.ctx, s, fmt.Sprint(prefix, n))
		select {
		case <-child.Ended:
			return // new writers come with the new process
		case <-l.ctx.Done():
			return
		default:
		}
		l.note(node, facts, err, time.Since(began))
		pause := writeEvery
		if err != nil {
			pause *= 5
		}
		select {
		case <-child.Ended:
			return
		case <-l.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (l *faultLoad) note(node int, facts []rig.Fact, err error, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		r := &l.refused[node]
		r.n, r.last, r.longest = r.n+1, err, max(r.longest, took)
		return
	}
	l.written[node]++
	for _, f := range facts {
		l.truth[f.Text] = f
	}
}

// writes returns how many changes were acknowledged by a node so far, and how many it refused.
func (l *faultLoad) writes(node int) (written int, r refusals) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written[node], l.refused[node]
}

// writesAgain waits until a node acknowledges changes that began after this call.
func (w *faultWorld) writesAgain(limit time.Duration, node int) time.Duration {
	w.t.Helper()
	before, _ := w.load.writes(node)
	return w.within(limit, "writes on "+w.Nodes[node].Name, func() error {
		if now, r := w.load.writes(node); now <= before+2 {
			return fmt.Errorf("%d; refused: %w", now-before, r.last)
		}
		return nil
	})
}

// ends stops the load and checks that everything that was acknowledged is so, on all nodes.
func (l *faultLoad) ends(t *testing.T) {
	t.Helper()
	l.stop()
	l.clients.Wait()
	// A change whose request ended just now may be in the store and not yet in force: its
	// node compares the tables until it knows.
	same := l.w.within(5*time.Second, "the same tables on all nodes", func() error {
		var first []string
		for i, n := range l.w.Nodes {
			tables := tablesOf(t, n.Client(n.Dir))
			if i == 0 {
				first = tables
			}
			if diff := gocmp.Diff(first, tables); diff != "" {
				return fmt.Errorf("those of %s and %s differ (-%[1]s +%[2]s):\n%s", l.w.Nodes[0].Name, n.Name, diff)
			}
		}
		return nil
	})
	n := l.w.Nodes[rand.IntN(len(l.w.Nodes))]
	rig.CheckTruth(t, n.Child, n.Dir, l.truth, 100)
	l.w.measured("the tables of all nodes were the same %v after the load; of %d acknowledged facts none was lost: %v", round(same), len(l.truth), !t.Failed())
	for _, p := range l.pairs {
		_ = p.from.player.Load().Close()
		_ = p.to.player.Load().Close()
	}
}

// tablesOf returns a node's copy of the tables that all nodes share.
func tablesOf(t *testing.T, op operator.Conn) (all []string) {
	t.Helper()
	bans, err := operator.ListBans.Call(t.Context(), op, operator.None{})
	rig.Must(t, err)
	for _, b := range bans {
		all = append(all, "ban "+b.Prefix.String())
	}
	rooms, err := operator.ListRooms.Call(t.Context(), op, operator.GameQuery{Game: rig.TestGame})
	rig.Must(t, err)
	for _, r := range rooms {
		all = append(all, "room "+r.Name)
	}
	list, err := operator.ListGames.Call(t.Context(), op, operator.None{})
	rig.Must(t, err)
	for _, g := range list {
		all = append(all, "game "+g.Name)
	}
	kept, err := operator.ListKept.Call(t.Context(), op, operator.None{})
	rig.Must(t, err)
	for _, a := range kept.Added {
		all = append(all, "added "+a.Address)
	}
	for _, h := range kept.Hidden {
		all = append(all, "hidden "+h.Address.String())
	}
	slices.Sort(all)
	return all
}

// pair is two buddies. One of them writes to the other all the time.
type pair struct {
	l          *faultLoad
	from, to   *buddy
	sent       atomic.Int64
	quiet      atomic.Bool  // nothing is said for now
	pace       atomic.Int64 // ns between two messages; 0: sayEvery
	mu         sync.Mutex   // guards the fields below
	heard      map[int64]int
	refused    map[int64]string // errors that the sender received for refused messages
	lastHeard  time.Time
	longest    time.Duration // between two messages
	latencies  []time.Duration
	outOfOrder int
	highest    int64
	base       int64 // messages up to this one are not looked at
}

// buddy is a player who is signed in to a node.
type buddy struct {
	name    string
	home    int // the node that it prefers
	node    int
	player  atomic.Pointer[rig.Player]
	ended   atomic.Pointer[error] // why its connection ended; nil: it has not
	refused atomic.Pointer[error] // the last error that it heard
}

func (l *faultLoad) addPair(i, k int) *pair {
	t, w := l.w.t, l.w
	t.Helper()
	p := &pair{l: l, heard: make(map[int64]int), refused: make(map[int64]string)}
	seats := make([]rig.Seat, 2)
	for n, node := range []int{i, k} {
		b := &buddy{name: fmt.Sprintf("%s%s%d", w.Nodes[i].Name, w.Nodes[k].Name, n), home: node, node: node}
		if rig.NewUser(t.Context(), w.Nodes[node].Address["gpsp"], b.name) == "" {
			t.Fatalf("no account %s", b.name)
		}
		one, err := w.signsIn(node, b.name)
		rig.Must(t, err)
		b.player.Store(one)
		seats[n] = rig.Seat{Player: one, T: t}
		if n == 0 {
			p.from = b
		} else {
			p.to = b
		}
	}
	rig.Befriend(seats[0], seats[1])
	l.follow(p)
	l.clients.Go(func() { p.talk() })
	return p
}

// follow reads both players' messages until their connections end.
func (l *faultLoad) follow(p *pair) {
	for _, b := range []*buddy{p.from, p.to} {
		l.followOne(p, b)
	}
}

func (l *faultLoad) followOne(p *pair, b *buddy) {
	one := b.player.Load()
	ctx := l.ctx
	context.AfterFunc(ctx, func() { _ = one.Close() })
	l.clients.Go(func() {
		for {
			m, err := one.Next(netclient.Bound(context.WithoutCancel(ctx), 10*time.Minute))
			if err != nil {
				if ctx.Err() == nil && b.player.Load() == one {
					b.ended.Store(&err)
				}
				return
			}
			if strings.HasPrefix(m, `\error\`) && b.player.Load() == one && p.refuses(m) {
				err := fmt.Errorf("%s heard %s", b.name, m)
				b.refused.Store(&err)
			}
			if strings.HasPrefix(m, `\bm\1\`) && b == p.to {
				p.hear(rig.Field(m, "msg"))
			}
		}
	})
}

// talk sends messages with numbers until the load ends.
func (p *pair) talk() {
	for {
		select {
		case <-p.l.ctx.Done():
			return
		case <-time.After(cmp.Or(time.Duration(p.pace.Load()), sayEvery)):
		}
		if p.from.ended.Load() != nil || p.quiet.Load() {
			continue
		}
		n := p.sent.Add(1)
		to := p.to.player.Load()
		_ = p.from.player.Load().MustSend(fmt.Sprintf(`\bm\1\sesskey\$K\t\%s\id\%d\msg\%[2]d %d\final\`, to.Profile, n, time.Now().UnixNano()))
	}
}

// refuses notes that a message was not taken: the error has its number as id. It reports
// whether the message, if it is one, is looked at.
func (p *pair) refuses(answer string) bool {
	n, err := strconv.ParseInt(rig.Field(answer, "id"), 10, 64)
	if err != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[n] = answer
	return n > p.base
}

func (p *pair) hear(text string) {
	var n, at int64
	if _, err := fmt.Sscan(text, &n, &at); err != nil {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard[n]++
	if n < p.highest && n > p.base {
		p.outOfOrder++
	}
	p.highest = max(p.highest, n)
	if !p.lastHeard.IsZero() {
		p.longest = max(p.longest, now.Sub(p.lastHeard))
	}
	p.lastHeard = now
	p.latencies = append(p.latencies, now.Sub(time.Unix(0, at)))
}

// touches reports whether one of the players prefers a node.
func (p *pair) touches(node int) bool { return p.from.home == node || p.to.home == node }

// untouched fails unless both players stayed signed in and every message arrived once, in
// order and soon.
func (p *pair) untouched() {
	t := p.l.w.t
	t.Helper()
	for _, b := range []*buddy{p.from, p.to} {
		if err := b.ended.Load(); err != nil {
			t.Errorf("%s on %s was signed out: %v", b.name, p.l.w.Nodes[b.node].Name, *err)
		}
		if err := b.refused.Load(); err != nil {
			t.Errorf("%s on %s: %v", b.name, p.l.w.Nodes[b.node].Name, *err)
		}
	}
	p.arrived(false)
}

// arrived waits until every message so far has arrived or was refused. again: a message
// may come twice.
func (p *pair) arrived(again bool) {
	t := p.l.w.t
	t.Helper()
	sent, base := p.sent.Load(), p.base
	p.l.w.within(rig.Hang, "messages of "+p.from.name, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		for n := base + 1; n <= sent; n++ {
			if p.heard[n] == 0 && p.refused[n] == "" {
				return fmt.Errorf("%d of %d messages arrived, %d were refused, and nothing came of number %d", len(p.heard), sent, len(p.refused), n)
			}
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	twice := 0
	for number, n := range p.heard {
		if n > 2 {
			t.Errorf("message %d of %s came %d times", number, p.from.name, n)
		}
		if n > 1 && number > base {
			twice++
		}
	}
	if !again && (twice > 0 || p.outOfOrder > 0) {
		t.Errorf("of %d messages of %s %d came again and %d out of order", sent, p.from.name, twice, p.outOfOrder)
	}
}

// gaps returns the longest pause between two messages, and the p99 of their times.
func (l *faultLoad) gaps(some func(p *pair) bool) (pause, p99 time.Duration) {
	var all []time.Duration
	for _, p := range l.pairs {
		if some(p) {
			p.mu.Lock()
			pause = max(pause, p.longest)
			all = append(all, p.latencies...)
			p.mu.Unlock()
		}
	}
	slices.Sort(all)
	if len(all) > 0 {
		p99 = all[len(all)*99/100]
	}
	return pause, p99
}

// sinceBase returns how many messages arrived since begins.
func (p *pair) sinceBase() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number := range p.heard {
		if number > p.base {
			n++
		}
	}
	return n
}

// begins has arrived and untouched look at messages from now on only.
func (p *pair) begins() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base, p.outOfOrder = p.sent.Load(), 0
	p.from.refused.Store(nil)
	p.to.refused.Store(nil)
}

// resetTalk forgets the times of messages so far.
func (l *faultLoad) resetTalk() {
	for _, p := range l.pairs {
		p.mu.Lock()
		p.longest, p.latencies, p.lastHeard = 0, nil, time.Time{}
		p.mu.Unlock()
	}
	for _, w := range l.lists {
		w.reset()
	}
}

// returns signs in a player whose connection ended, on another node, and has it continue.
func (p *pair) returns(b *buddy, node int) error {
	one, err := p.l.w.signsIn(node, b.name)
	if err != nil {
		return err
	}
	b.node = node
	b.player.Store(one)
	b.ended.Store(nil)
	b.refused.Store(nil)
	p.l.followOne(p, b)
	return nil
}
