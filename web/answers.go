package web

import (
	"runtime"
	"sync"
)

const (
	// maxAnswer is the size in bytes after which an answer stops and the rest of
	// the list is left to the next one.
	maxAnswer = 16 << 20
	// maxAnswers and maxAnswersSize bound what one snapshot keeps: answers, and
	// bytes in them.
	maxAnswers     = 64
	maxAnswersSize = 64 << 20
	// maxSending is how many bytes of answers may be on their way to slow
	// visitors. An answer that many share counts once.
	maxSending = 192 << 20
)

// maxBuilding returns how many answers may be written at the same time: on half
// of the processors, so that visitors cannot take the machine from the games.
func maxBuilding() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// answer is a finished body. It never changes.
type answer struct {
	body    []byte
	senders int // requests that are sending it, guarded by outbox.mu
}

// answers are the answers that were written from one snapshot. When there are
// too many, further ones are not kept.
type answers struct {
	mu    sync.Mutex // guards the fields below
	kept  map[any]*promise
	bytes int
}

// promise is an answer that one request writes and others wait for.
type promise struct {
	once   sync.Once
	answer *answer // nil if the writer panicked
}

// find returns the promise for a question, which may be any comparable value.
// shared is false if nobody asked it before.
func (a *answers) find(question any) (p *promise, shared bool) {
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

// settle accounts for a promise that was kept, and forgets it if it is broken or
// there is no room for its answer.
func (a *answers) settle(question any, p *promise) {
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

// answer returns the answer to a question about a snapshot: the one that is
// there or what write returns. Identical questions are answered together. It
// waits while as many others as maxBuilding says are being written.
func (s *Server) answer(list *snapshot, question any, write func() []byte) *answer {
	p, shared := list.answers.find(question)
	if shared {
		s.metrics.shared.Inc()
	}
	p.once.Do(func() {
		defer list.answers.settle(question, p)
		s.building <- struct{}{}
		defer func() { <-s.building }()
		s.metrics.built.Inc()
		p.answer = &answer{body: write()}
	})
	if p.answer == nil { // whoever began it panicked; the answer is his no more
		return &answer{body: write()}
	}
	return p.answer
}

// outbox bounds the memory of answers that are being sent.
type outbox struct {
	mu    sync.Mutex
	bytes int
}

// add notes that a request sends a. It reports false if there is no room.
func (o *outbox) add(a *answer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.senders == 0 {
		if o.bytes+len(a.body) > maxSending {
			return false
		}
		o.bytes += len(a.body)
	}
	a.senders++
	return true
}

// done takes back one add.
func (o *outbox) done(a *answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.senders--; a.senders == 0 {
		o.bytes -= len(a.body)
	}
}
