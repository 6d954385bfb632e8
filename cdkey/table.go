package cdkey

import (
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
	product int
	hash    hash
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

	mu    sync.Mutex // guards the fields below
	uses  map[id]*use
	hosts map[netip.AddrPort]*host // that have uses
	asked map[id]*use              // those with a question
}

func newTable(keys Keyring, random func(int) int, challenge func() string) *table {
	return &table{
		keys: keys, random: random, challenge: challenge,
		uses: make(map[id]*use), hosts: make(map[netip.AddrPort]*host), asked: make(map[id]*use),
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
	case u == nil, u.server == from:
		return verdictAccepted, []send{t.give(k, by, size, now)}
	case u.question != nil:
		return verdictNone, nil // one at a time; this one asks again by itself
	case u.refused == by && now.Sub(u.refusedAt) < repeatTime:
		return verdictInUse, []send{{from, appendRefusal(nil, r.hash, r.skey, textInUse)}}
	}
	return t.ask(k, u, by, size, now)
}

// give lets a player use a key. A server that comes again with another skey has lost
// a disc.
func (t *table) give(k id, to holder, size int, now time.Time) send {
	t.uses[k] = &use{holder: to}
	delete(t.asked, k)
	h := t.hosts[to.server]
	if h == nil {
		h = &host{heard: now, credit: size}
		t.hosts[to.server] = h
	}
	return t.sent(send{to.server, appendOK(nil, k.hash, to.skey)})
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
func (t *table) ask(k id, u *use, by holder, size int, now time.Time) (verdict, []send) {
	q := &question{n: t.random(10), pch: t.challenge(), asked: now, by: by, size: size}
	body := appendQuestion(nil, k.hash, q.n, q.pch)
	if len(body) > t.hosts[u.server].credit {
		return verdictAccepted, []send{t.give(k, by, size, now)}
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
			return verdictAccepted, []send{t.give(k, q.by, q.size, now)}
		}
		h, ok := parseHash(r.proof)
		if !ok || h != k.hash {
			continue
		}
		key, known := t.keys.Key(k.product, string(k.hash.appendTo(nil)))
		if !known || !proves(r.proof, key, q.pch, true) {
			continue
		}
		u.question, u.refused, u.refusedAt = nil, q.by, now
		delete(t.asked, k)
		return verdictInUse, []send{t.sent(send{q.by.server, appendRefusal(nil, k.hash, q.by.skey, textInUse)})}
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
		return verdictAccepted, []send{t.give(k, u.question.by, u.question.size, now)}
	}
	delete(t.uses, k)
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
			out = append(out, t.give(k, u.question.by, u.question.size, now))
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
			delete(t.uses, k)
		}
	}
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
