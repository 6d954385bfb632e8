package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/respawnd/respawnd/storage/engine"
)

// Sizes of a history. Judging one takes longer than making it, if it is large.
const (
	historyKeys  = 8 // half of them in each of two tables
	historySteps = 30
	historyTime  = 2 * time.Second
)

// An action is one thing that a step does.
type action struct {
	kind     actionKind
	key      int   // from which a scan begins
	to       int   // where a scan ends
	limit    int   // of a scan
	backward bool  // a scan
	value    int32 // that is stored
}

// actionKind says what an action does.
type actionKind int

const (
	actionGet actionKind = iota
	actionScan
	actionPut
	actionDelete
)

// A plan is what a step does; its changes do not depend on what it reads.
type plan struct {
	view    bool
	aborts  bool // it ends with an error
	actions []action
}

// A result is what a step read, in order: of each entry the key and the value.
type result struct {
	read    []int32
	unknown bool // the step failed: it may have happened
}

// state is the values of all keys, 0: missing.
type state [historyKeys]int32

// errAborted is the error of steps that end with one.
var errAborted = errors.New("the step ends with an error")

// History runs random steps at once, over one engine or several that share their tables, and
// fails unless there is an order of the steps, within the times that they took, in which one
// after the other would have read the same.
func History(t *testing.T, engines ...engine.Engine) {
	t.Helper()
	for began, n := time.Now(), uint64(0); time.Since(began) < historyTime; n++ {
		Judge(t, n, Record(t, n, engines...))
	}
}

// Judge fails unless operations of Record with a seed have such an order. Then it leaves
// them in a file, which the failure names.
func Judge(t *testing.T, seed uint64, operations []porcupine.Operation) {
	t.Helper()
	if err := judge(operations); err != nil {
		file, failed := keep(seed, operations)
		t.Fatalf("%v; seed %d, all operations: %s %v", err, seed, file, failed)
	}
}

// keep writes operations to a new file, a line for each.
func keep(seed uint64, operations []porcupine.Operation) (name string, err error) {
	f, err := os.CreateTemp("", fmt.Sprintf("history-%d-*.txt", seed))
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "seed %d\nclient, call, return: plan; result\n", seed)
	for _, op := range operations {
		_, failed := fmt.Fprintf(f, "%d, %d, %d: %+v; %+v\n", op.ClientId, op.Call, op.Return, *op.Input.(*plan), op.Output)
		err = errors.Join(err, failed)
	}
	return f.Name(), errors.Join(err, f.Close())
}

// Record runs steps and returns what they did. It empties the tables first. A step whose error matches ErrUnavailable may have happened.
func Record(t *testing.T, seed uint64, engines ...engine.Engine) []porcupine.Operation {
	t.Helper()
	const clients = 5
	var mu sync.Mutex
	var all []porcupine.Operation
	began := time.Now()
	do := func(client int, p *plan) {
		e := engines[client%len(engines)]
		op := porcupine.Operation{ClientId: client, Input: p, Call: time.Since(began).Nanoseconds()}
		out, err := p.run(t, e)
		op.Output, op.Return = out, time.Since(began).Nanoseconds()
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			out.unknown, op.Return = true, math.MaxInt64
			op.Output = out
		case err != nil && (!p.aborts || !errors.Is(err, errAborted)):
			t.Errorf("step %+v: %v", *p, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, op)
	}
	empty(t, engines[0])
	var wg sync.WaitGroup
	for client := range clients {
		rnd := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for n := range historySteps {
				do(client, randomPlan(rnd, int32(1+client*historySteps*8+n*8)))
			}
		})
	}
	wg.Wait()
	return all
}

// empty removes all keys of histories.
func empty(t *testing.T, e engine.Engine) {
	t.Helper()
	p := &plan{}
	for k := range historyKeys {
		p.actions = append(p.actions, action{kind: actionDelete, key: k})
	}
	_, err := p.run(t, e)
	for errors.Is(err, engine.ErrUnavailable) {
		_, err = p.run(t, e)
	}
	if err != nil {
		t.Fatalf("Update() = %v", err)
	}
}

// randomPlan returns a plan whose values begin with value, of at most 5 actions.
func randomPlan(rnd *rand.Rand, value int32) *plan {
	p := &plan{view: rnd.IntN(3) == 0, aborts: rnd.IntN(6) == 0}
	for range 2 + rnd.IntN(4) {
		a := action{kind: actionKind(rnd.IntN(4)), key: rnd.IntN(historyKeys), limit: rnd.IntN(4), backward: rnd.IntN(2) == 0, value: value}
		if p.view {
			a.kind %= 2
		}
		end := historyKeys / 2
		if a.key >= end {
			end = historyKeys
		}
		a.to = a.key + 1 + rnd.IntN(end-a.key)
		p.actions = append(p.actions, a)
		value++
	}
	return p
}

// place returns the table and the key of a number. Two keys each have the same first bytes.
func place(key int) (engine.Table, []byte) {
	k := []byte{'k', 'e', 'y', byte(key / 2), byte(key)}
	if key < historyKeys/2 {
		return One, k
	}
	return Two, k
}

// run runs a plan as a step.
func (p *plan) run(t *testing.T, e engine.Engine) (out result, err error) {
	body := func(r engine.Reader, tx engine.Tx) error {
		out = result{}
		for _, a := range p.actions {
			if err := a.do(r, tx, &out); err != nil {
				return err
			}
			if rand.IntN(4) == 0 {
				time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
			}
		}
		if p.aborts {
			return errAborted
		}
		return nil
	}
	if p.view {
		err = e.View(t.Context(), func(r engine.Reader) error { return body(r, nil) })
	} else {
		err = e.Update(t.Context(), func(tx engine.Tx) error { return body(tx, tx) })
	}
	return out, err
}

func (a *action) do(r engine.Reader, tx engine.Tx, out *result) error {
	table, key := place(a.key)
	switch a.kind {
	case actionPut:
		return tx.Put(table, key, binary.BigEndian.AppendUint32(nil, uint32(a.value)))
	case actionDelete:
		return tx.Delete(table, key)
	case actionGet:
		v, err := r.Get(table, key)
		out.add(a.key, v)
		return err
	default:
		return a.doScan(r, out)
	}
}

// doScan reads a range of a table.
func (a *action) doScan(r engine.Reader, out *result) error {
	table, from := place(a.key)
	_, to := place(a.to)
	at := engine.Range{Table: table, From: from, To: to, Limit: a.limit, Backward: a.backward}
	if a.value%2 == 0 { // with one more, which a later action may read
		if err := r.LoadRanges(at, engine.Range{Table: table}); err != nil {
			return err
		}
	}
	for e, err := range r.Scan(at) {
		if err != nil {
			return err
		}
		out.add(int(e.Key[4]), e.Value)
	}
	out.read = append(out.read, -1) // the end of a scan
	return nil
}

func (r *result) add(key int, value []byte) {
	n := int32(0)
	if value != nil {
		n = int32(binary.BigEndian.Uint32(value))
	}
	r.read = append(r.read, int32(key), n)
}

// apply runs a plan on a state.
func (p *plan) apply(s state) (after state, read []int32) {
	after = s
	for _, a := range p.actions {
		switch a.kind {
		case actionGet:
			read = append(read, int32(a.key), after[a.key])
		case actionPut:
			after[a.key] = a.value
		case actionDelete:
			after[a.key] = 0
		case actionScan:
			read = append(append(read, a.scan(&after)...), -1)
		}
	}
	if p.aborts || p.view {
		return s, read
	}
	return after, read
}

func (a *action) scan(s *state) (read []int32) {
	for i := range a.to - a.key {
		k := a.key + i
		if a.backward {
			k = a.to - 1 - i
		}
		if s[k] != 0 && (a.limit == 0 || len(read) < 2*a.limit) {
			read = append(read, int32(k), s[k])
		}
	}
	return read
}

// model is an engine whose steps run one after the other.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, output any) (bool, any) {
		out := output.(result)
		after, read := input.(*plan).apply(s.(state))
		return out.unknown || slices.Equal(read, out.read), after
	},
}

// judge returns an error unless operations have an order.
func judge(operations []porcupine.Operation) error {
	switch porcupine.CheckOperationsTimeout(model, settle(operations), 20*time.Second) {
	case porcupine.Illegal:
		return fmt.Errorf("%d steps have no order in which one after the other would have read the same", len(operations))
	case porcupine.Unknown:
		return fmt.Errorf("judging %d steps took too long", len(operations))
	default:
		return nil
	}
}

// settle bounds the operations whose results are unknown, each of which would double the search. One
// of which a value was read ended before the first step that read it did. One that changed nothing,
// or of whose values none was read, fits as if it had not happened, unless it deletes.
func settle(operations []porcupine.Operation) (settled []porcupine.Operation) {
	seen := make(map[int32]int64) // the first end of a step that read a value
	for _, op := range operations {
		if out := op.Output.(result); !out.unknown {
			for _, v := range out.values() {
				if end, found := seen[v]; !found || op.Return < end {
					seen[v] = op.Return
				}
			}
		}
	}
	for _, op := range operations {
		if op.Output.(result).unknown {
			end, needed := op.Input.(*plan).ended(seen)
			if !needed {
				continue
			}
			op.Return = max(op.Call, end)
		}
		settled = append(settled, op)
	}
	return settled
}

// values returns the values that were read, without their keys.
func (r *result) values() (all []int32) {
	for i := 0; i < len(r.read); i++ {
		if r.read[i] >= 0 { // else the end of a scan
			i++
			all = append(all, r.read[i])
		}
	}
	return all
}

// ended returns the time by which a step had ended, of which values were read at these times. needed
// reports whether the step may explain what others read.
func (p *plan) ended(seen map[int32]int64) (by int64, needed bool) {
	by = math.MaxInt64
	if p.view || p.aborts {
		return by, false
	}
	for _, a := range p.actions {
		end, found := seen[a.value] // no other step has the value
		if a.kind == actionPut && found {
			by = min(by, end)
		}
		needed = needed || a.kind == actionDelete || a.kind == actionPut && found
	}
	return by, needed
}
