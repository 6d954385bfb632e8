package front

import (
	"runtime"
	"sync"
)

const (
	// maxAnswers and maxAnswersSize bound one Cache: answers, and their bytes.
	maxAnswers     = 64
	maxAnswersSize = 64 << 20
	// MaxSending is the maximum number of bytes of answers that are being sent.
	// A shared answer counts once.
	MaxSending = 192 << 20
)

// maxBuilding returns the maximum number of answers built concurrently: half of
// the processors, so that visitors cannot slow down the game services.
func maxBuilding() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// Answer is a finished body.
type Answer struct {
	body    []byte // never changed
	tagOnce sync.Once
	text    string // see tag
	senders int    // requests that are sending it, guarded by outbox.mu
}

// NewAnswer returns an answer with a body, which must not be modified
// afterwards.
func NewAnswer(body []byte) *Answer { return &Answer{body: body} }

// tag returns a weak tag that comes from the body.
func (a *Answer) tag() string {
	a.tagOnce.Do(func() { a.text = "W/" + ContentTag(a.body) })
	return a.text
}

// Cache holds the answers that were written from one state of the list, each for
// its question. The zero value is an empty cache. Answers beyond its bounds are
// not kept.
type Cache struct {
	mu      sync.Mutex // guards the fields below
	kept    map[any]*promise
	bytes   int
	version uint64 // see Renew
}

// Renew is called before the look-up of answers that show more than the list. It forgets all answers
// if the version of that is newer than at the call before.
func (a *Cache) Renew(version uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if version > a.version && a.version != 0 {
		a.kept, a.bytes = nil, 0
	}
	a.version = max(a.version, version)
}

// promise is an answer that one request writes and others wait for.
type promise struct {
	once   sync.Once
	answer *Answer // nil if the writer panicked
}

// find returns the promise for a question, which may be any comparable value.
// shared is false if it is new.
func (a *Cache) find(question any) (p *promise, shared bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.kept[question]; ok {
		return p, true
	}
	p = new(promise)
	if len(a.kept) < maxAnswers {
		if a.kept == nil {
			a.kept = make(map[any]*promise)
		}
		a.kept[question] = p
	}
	return p, false
}

// settle accounts for a fulfilled promise, and removes it if it failed or there
// is no room for its answer.
func (a *Cache) settle(question any, p *promise) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.kept[question] != p:
	case p.answer == nil || a.bytes+len(p.answer.body) > maxAnswersSize:
		delete(a.kept, question)
	default:
		a.bytes += len(p.answer.body)
	}
}

// Answer returns the answer to a question from a cache, which may be any
// comparable value: the cached one or the result of write. Concurrent identical
// questions share one call.
func (f *Front) Answer(cache *Cache, question any, write func() []byte) *Answer {
	p, shared := cache.find(question)
	if shared {
		f.metrics.shared.Inc()
	}
	p.once.Do(func() {
		defer cache.settle(question, p)
		f.InTurn(func() {
			f.metrics.built.Inc()
			p.answer = NewAnswer(write())
		})
	})
	if p.answer == nil { // the request that was to write it panicked
		return NewAnswer(write())
	}
	return p.answer
}

// InTurn calls write while at most maxBuilding others run.
func (f *Front) InTurn(write func()) {
	f.building <- struct{}{}
	defer func() { <-f.building }()
	write()
}

// outbox bounds the memory of answers that are being sent.
type outbox struct {
	mu    sync.Mutex
	bytes int
}

// add records that a request sends a. It returns false if there is no room.
func (o *outbox) add(a *Answer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.senders == 0 {
		if o.bytes+len(a.body) > MaxSending {
			return false
		}
		o.bytes += len(a.body)
	}
	a.senders++
	return true
}

// done takes back one add.
func (o *outbox) done(a *Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.senders--; a.senders == 0 {
		o.bytes -= len(a.body)
	}
}
