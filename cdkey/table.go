package cdkey

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Times of strict mode.
const (
	// hostLife is how long the entries of a server are valid without a message
	// of it. It sends one every 20 seconds.
	hostLife = time.Minute
	// askTime is the time for a server to prove that its player is still there.
	askTime = 2 * time.Second
	// repeatTime is how long a refusal is remembered, for a request that comes again.
	repeatTime = 10 * time.Second
	// grantTime is how long a key is kept for another node that may take it.
	grantTime = 2 * time.Second
	// maxCredit bounds the credit of a server, in bytes.
	maxCredit = 64 << 10
)

// Texts that players read.
const (
	textUnknown = "CD Key is invalid"
	textWrong   = "Invalid response"
	textInUse   = "CD Key in use"
	textBanned  = "CD Key is banned"
)

// Keyring knows keys. Its methods must not block and may be called concurrently.
type Keyring interface {
	// Key returns the key of a product with a hash of 32 lower-case hex digits.
	Key(product int, hash string) (key string, known bool)
	// Banned reports whether a key must not be used with a product.
	Banned(product int, hash string) bool
}

// id identifies a key.
type id struct {
	Product int
	Hash    hash
}

// holder is a player as a game server knows one.
type holder struct {
	server netip.AddrPort
	skey   int
}

// use is where a key is used.
type use struct {
	holder
	question  *question
	refused   holder    // the player refused last
	refusedAt time.Time // zero: none was
}

// host is a game server with uses.
type host struct {
	heard  time.Time // last message
	credit int       // bytes that it sent and was not sent: it may be a forged address
}

// question is out to the server of a use while another one waits.
type question struct {
	n     int
	pch   string
	asked time.Time
	by    holder
	size  int // bytes of the request
	// If another node waits in place of a player:
	node string
	free chan<- bool // receives whether the key is free; of capacity 1
}

// grant is a key that another node may take.
type grant struct {
	node  string
	until time.Time
}

// send is a message for a server.
type send struct {
	to   netip.AddrPort
	body []byte // in the clear
}

// table holds the uses of known keys, at most one for each.
type table struct {
	keys      Keyring
	random    func(n int) int // 0 to n-1
	challenge func() string   // pchLen characters
	nodes     *nodes

	mu      sync.Mutex // guards the fields below
	uses    map[id]*use
	hosts   map[netip.AddrPort]*host // that have uses
	asked   map[id]*use              // those with a question
	waiting map[id]bool              // those that other nodes are asked for
	grants  map[id]grant
}

func newTable(keys Keyring, random func(int) int, challenge func() string, n *nodes) *table {
	return &table{
		keys: keys, random: random, challenge: challenge, nodes: n,
		uses: make(map[id]*use), hosts: make(map[netip.AddrPort]*host), asked: make(map[id]*use),
		waiting: make(map[id]bool), grants: make(map[id]grant),
	}
}

// verdict is how a request ended.
type verdict uint8

const (
	verdictNone verdict = iota // nothing was decided
	verdictAccepted
	verdictUnknown
	verdictWrong
	verdictInUse
	verdictBanned
	verdictAsked
)

// auth handles a request for a player. size is its length in bytes. The messages may
// be for other servers too.
func (t *table) auth(from netip.AddrPort, r *request, size int, now time.Time) (verdict, []send) {
	key, known := t.keys.Key(r.product, string(r.hash.appendTo(nil)))
	switch {
	case !known:
		return verdictUnknown, []send{{from, appendRefusal(nil, r.hash, r.skey, textUnknown)}}
	case !proves(r.response, key, string(r.challenge), false):
		return verdictWrong, []send{{from, appendRefusal(nil, r.hash, r.skey, textWrong)}}
	}
	k, by := id{r.product, r.hash}, holder{from, r.skey}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.uses[k]
	t.touch(from, size, now)
	if u != nil && u.server != from && t.silent(u.server, now) {
		u = nil
	}
	switch {
	case u != nil && u.server == from:
		return verdictAccepted, []send{t.give(k, by, size, now)}
	case u == nil:
		return t.claim(wait{k, by, size}, now)
	case u.question != nil:
		return verdictNone, nil // one at a time; this one asks again by itself
	case u.refused == by && now.Sub(u.refusedAt) < repeatTime:
		return verdictInUse, []send{{from, appendRefusal(nil, r.hash, r.skey, textInUse)}}
	}
	return t.ask(k, u, &question{by: by, size: size}, now)
}

// claim lets a player use a key that no other server here has: at once, or when the other nodes
// have agreed.
func (t *table) claim(w wait, now time.Time) (verdict, []send) {
	switch {
	case t.waiting[w.key]:
	case len(t.nodes.others(w.key)) > 0:
		if t.nodes.await(w) {
			t.waiting[w.key] = true
		}
	case t.granted(w.key, "", now):
		return t.refuse(w)
	default:
		return verdictAccepted, []send{t.give(w.key, w.by, w.size, now)}
	}
	return verdictNone, nil
}

// claimed ends a wait for other nodes. Without their answer nothing is decided.
func (t *table) claimed(w wait, free bool, err error, now time.Time) (verdict, []send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, w.key)
	switch {
	case err != nil:
		return verdictNone, nil
	case !free:
		return t.refuse(w)
	}
	return verdictAccepted, []send{t.give(w.key, w.by, w.size, now)}
}

func (t *table) refuse(w wait) (verdict, []send) {
	return verdictInUse, []send{{w.by.server, appendRefusal(nil, w.key.Hash, w.by.skey, textInUse)}}
}

// granted reports whether a node other than this may take a key.
func (t *table) granted(k id, node string, now time.Time) bool {
	g, ok := t.grants[k]
	return ok && g.node != node && now.Before(g.until)
}

// yield decides about a request of another node for a key. The answer says whether it is free, and
// the key is that node's then. It is closed if another request for the key is not decided yet.
func (t *table) yield(c claim, now time.Time) (answer <-chan bool, out []send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, done := t.uses[c.Key], make(chan bool, 1)
	switch {
	case t.waiting[c.Key], u != nil && u.question != nil:
		close(done)
	case t.granted(c.Key, c.Node, now):
		done <- false
	case u == nil, t.silent(u.server, now):
		_, _ = t.pass(c.Key, &question{node: c.Node, free: done}, now)
	default:
		_, out = t.ask(c.Key, u, &question{node: c.Node, free: done}, now)
	}
	return done, out
}

// forget ends the use of a key.
func (t *table) forget(k id) {
	delete(t.uses, k)
	delete(t.asked, k)
	t.nodes.held.Delete(k)
}

// pass gives a key to the player who waits for the answer to a question.
func (t *table) pass(k id, q *question, now time.Time) (verdict, []send) {
	if q.free == nil {
		return verdictAccepted, []send{t.give(k, q.by, q.size, now)}
	}
	t.forget(k)
	t.grants[k] = grant{q.node, now.Add(grantTime)}
	q.free <- true
	return verdictNone, nil
}

// give lets a player use a key. A server that comes again with another skey has lost
// a disc.
func (t *table) give(k id, to holder, size int, now time.Time) send {
	if t.uses[k] == nil {
		t.nodes.held.Put(k, struct{}{})
	}
	t.uses[k] = &use{holder: to}
	delete(t.asked, k)
	h := t.hosts[to.server]
	if h == nil {
		h = &host{heard: now, credit: size}
		t.hosts[to.server] = h
	}
	return t.sent(send{to.server, appendOK(nil, k.Hash, to.skey)})
}

// sent takes a message off the credit of its receiver.
func (t *table) sent(m send) send {
	if h := t.hosts[m.to]; h != nil {
		h.credit -= len(m.body)
	}
	return m
}

// silent reports whether a server was silent for too long.
func (t *table) silent(server netip.AddrPort, now time.Time) bool {
	h := t.hosts[server]
	return h == nil || now.Sub(h.heard) > hostLife
}

// ask asks the server of a use whether its player is still there. A server that sent
// too little for that has lost its player.
func (t *table) ask(k id, u *use, q *question, now time.Time) (verdict, []send) {
	q.n, q.pch, q.asked = t.random(10), t.challenge(), now
	body := appendQuestion(nil, k.Hash, q.n, q.pch)
	if len(body) > t.hosts[u.server].credit {
		return t.pass(k, q, now)
	}
	u.question = q
	t.asked[k] = u
	return verdictAsked, []send{t.sent(send{u.server, body})}
}

// answer handles uon and uoff. Only a valid proof counts for uon.
func (t *table) answer(from netip.AddrPort, r *request, size int, now time.Time) (verdict, []send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touch(from, size, now)
	for k, u := range t.asked {
		q := u.question
		if u.server != from || q.n != r.skey {
			continue
		}
		if r.kind == kindOff {
			return t.pass(k, q, now)
		}
		h, ok := parseHash(r.proof)
		if !ok || h != k.Hash {
			continue
		}
		key, known := t.keys.Key(k.Product, string(k.Hash.appendTo(nil)))
		if !known || !proves(r.proof, key, q.pch, true) {
			continue
		}
		u.question = nil
		delete(t.asked, k)
		if q.free != nil {
			q.free <- false
			return verdictNone, nil
		}
		u.refused, u.refusedAt = q.by, now
		return verdictInUse, []send{t.sent(send{q.by.server, appendRefusal(nil, k.Hash, q.by.skey, textInUse)})}
	}
	return verdictNone, nil
}

// leave handles disc: the key is free if it is that server's.
func (t *table) leave(from netip.AddrPort, r *request, size int, now time.Time) (verdict, []send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touch(from, size, now)
	k := id{r.product, r.hash}
	u := t.uses[k]
	switch {
	case u == nil || u.server != from:
		return verdictNone, nil
	case u.question != nil:
		return t.pass(k, u.question, now)
	}
	t.forget(k)
	return verdictNone, nil
}

// keepAlive handles ka.
func (t *table) keepAlive(from netip.AddrPort, size int, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touch(from, size, now)
}

// touch notes that a server was heard that has uses.
func (t *table) touch(from netip.AddrPort, size int, now time.Time) {
	if h := t.hosts[from]; h != nil {
		h.heard = now
		h.credit = min(h.credit+size, maxCredit)
	}
}

// tick decides overdue checks: the waiting players are admitted.
func (t *table) tick(now time.Time) (out []send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, u := range t.asked {
		if now.Sub(u.question.asked) >= askTime {
			_, given := t.pass(k, u.question, now)
			out = append(out, given...)
		}
	}
	return out
}

// sweep forgets the uses of servers that were not heard for long, and the servers.
func (t *table) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, u := range t.uses {
		if u.question == nil && t.silent(u.server, now) {
			t.forget(k)
		}
	}
	maps.DeleteFunc(t.grants, func(_ id, g grant) bool { return !now.Before(g.until) })
	for a := range t.hosts {
		if t.silent(a, now) {
			delete(t.hosts, a)
		}
	}
}

// len returns the number of keys in use.
func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.uses)
}
