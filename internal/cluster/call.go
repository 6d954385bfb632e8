package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// callVersion is the first byte of questions; JSON follows it.
const callVersion = 1

// A Call is a question that the node answers which it concerns: the owner of an entry, or
// each. Answers and questions are JSON between nodes. All methods may be called concurrently.
type Call[Q, A any] struct {
	bus     Bus
	subject string
	answer  func(context.Context, Q) (A, error)
}

// NewCall returns a Call. bus nil: this node is alone. answer answers on this node, and may block
// until its context ends.
func NewCall[Q, A any](bus Bus, subject string, answer func(context.Context, Q) (A, error)) *Call[Q, A] {
	return &Call[Q, A]{bus, subject, answer}
}

// Serve answers other nodes until cancel is called.
func (c *Call[Q, A]) Serve() (cancel func()) {
	if c.bus == nil {
		return func() {}
	}
	return c.bus.Handle(c.subject, func(ctx context.Context, _ string, data []byte) ([]byte, error) {
		var q Q
		if len(data) == 0 || data[0] != callVersion {
			return nil, errMapVersion
		}
		if err := json.Unmarshal(data[1:], &q); err != nil {
			return nil, err
		}
		a, err := c.answer(ctx, q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
}

// Ask asks one node. An empty name is this one, which answers at once.
func (c *Call[Q, A]) Ask(ctx context.Context, node string, q Q) (a A, err error) {
	if node == "" || c.bus == nil || node == c.bus.Self() {
		return c.answer(ctx, q)
	}
	data, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if data, err = c.bus.Request(ctx, node, c.subject, append([]byte{callVersion}, data...)); err != nil {
		return a, err
	}
	if err = json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("answer of node %s: %w", node, err)
	}
	return a, nil
}

// AskOthers asks all other nodes at the same time, and calls use with each answer, one after the
// other. The error names the nodes that are live and did not answer.
func (c *Call[Q, A]) AskOthers(ctx context.Context, q Q, use func(A)) error {
	if c.bus == nil {
		return nil
	}
	var all sync.WaitGroup
	var mu sync.Mutex // guards errs and the calls of use
	var errs []error
	for _, node := range c.bus.Nodes() {
		if node == c.bus.Self() {
			continue
		}
		all.Go(func() {
			a, err := c.Ask(ctx, node, q)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				use(a)
			case !errors.Is(err, ErrGone):
				errs = append(errs, fmt.Errorf("node %s: %w", node, err))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
