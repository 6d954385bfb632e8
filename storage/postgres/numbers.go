package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage/engine"
)

// numberBlock is how many numbers of a table a node takes at once.
const numberBlock = 32

// numbers are those of a table that this node took and did not return yet, in their order.
type numbers struct {
	mu     sync.Mutex // guards the fields below, and is held while more are fetched
	next   []uint64
	raises uint64 // how often this node raised them
	past   uint64 // later numbers are higher than this one, which was read
}

// mostAhead is how far the numbers of a table are raised at most beyond what is asked for.
const mostAhead = 1000

// ahead returns how far the numbers are raised beyond what is asked for: not at all at
// first, and further each time, because raising takes a transaction of its own and records
// that are imported with their ids ask for one after the other.
func (n *numbers) ahead() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := min(n.raises*n.raises, mostAhead)
	n.raises++
	return a
}

// sequence is the name of the sequence of a table.
func sequence(table int16) string { return fmt.Sprintf("numbers_%d", table) }

// numbersOf returns the numbers of a table.
func (e *Engine) numbersOf(t engine.Table) *numbers {
	n, _ := e.numbers.LoadOrStore(t, new(numbers))
	return n.(*numbers)
}

// Next implements [engine.Tx].
func (x *tx) Next(t engine.Table) (uint64, error) {
	table, err := x.table(t)
	if err != nil {
		return 0, err
	}
	if x.eng.strict[t] {
		if len(x.ready[t]) == 0 {
			if err := x.ask(x.askNumbers(map[engine.Table]int{t: 1})); err != nil {
				return 0, err
			}
		}
		first := x.ready[t][0]
		x.ready[t] = x.ready[t][1:]
		return first, nil
	}
	n := x.eng.numbersOf(t)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.next) == 0 {
		if n.next, err = x.take(table, numberBlock); err != nil {
			return 0, err
		}
	}
	first := n.next[0]
	n.next = n.next[1:]
	return first, nil
}

// takeNumbers takes numbers of a sequence.
const takeNumbers = `SELECT nextval($1::text::regclass) FROM generate_series(1, $2::int)`

// askNumbers asks for numbers of strict tables; of others a block is there as a rule.
func (x *tx) askNumbers(counts map[engine.Table]int) (all []question) {
	for t, count := range counts {
		table, err := x.table(t)
		if err != nil || !x.eng.strict[t] {
			continue
		}
		all = append(all, question{func(rows pgx.Rows) error {
			list, err := pgx.CollectRows(rows, pgx.RowTo[uint64])
			if x.ready == nil {
				x.ready = make(map[engine.Table][]uint64)
			}
			x.ready[t] = append(x.ready[t], list...)
			return err
		}, takeNumbers, []any{sequence(table), count}})
	}
	return all
}

// take fetches numbers of a table.
func (x *tx) take(table int16, count int) ([]uint64, error) {
	rows, err := x.conn.Query(x.ctx, takeNumbers, sequence(table), count)
	if err != nil {
		return nil, x.fail(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uint64])
	if err != nil {
		return nil, x.fail(err)
	}
	return list, nil
}

// Last implements [engine.Reader]. Numbers that a node took and did not return count.
func (x *tx) Last(t engine.Table) (uint64, error) {
	table, err := x.table(t)
	if err != nil {
		return 0, err
	}
	var last uint64
	err = x.conn.QueryRow(x.ctx, lastNumber(table)).Scan(&last)
	if err != nil {
		return 0, x.fail(err)
	}
	return last, nil
}

// lastNumber is the statement that reads the number that was taken last.
func lastNumber(table int16) string {
	return `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ` + sequence(table)
}

// Raise implements [engine.Tx]. It happens whatever becomes of the step, and some numbers
// more may be left out.
func (x *tx) Raise(t engine.Table, n uint64) error {
	table, err := x.table(t)
	of := x.eng.numbersOf(t)
	if err != nil || of.skip(n) {
		return err
	}
	last, err := x.Last(t)
	if err != nil {
		return err
	}
	if last >= n {
		of.reach(last)
		return nil
	}
	return x.needs(func(ctx context.Context) error {
		to := min(n+of.ahead(), math.MaxInt64)
		err := x.eng.raise(ctx, table, to)
		if err == nil {
			of.reach(to)
		}
		return err
	})
}

// skip forgets the numbers up to one, and reports whether later ones are higher for certain.
func (n *numbers) skip(last uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next = slices.DeleteFunc(n.next, func(m uint64) bool { return m <= last })
	return n.past >= last
}

// reach notes that later numbers are higher than one.
func (n *numbers) reach(last uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.past = max(n.past, last)
}

// raise makes a sequence higher. The first statement locks it against those that take
// numbers.
func (e *Engine) raise(ctx context.Context, table int16, n uint64) error {
	return e.exclusive(ctx, func(ctx context.Context, tx pgx.Tx) error {
		name := sequence(table)
		if _, err := tx.Exec(ctx, `ALTER SEQUENCE `+name+` CACHE 1`, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT setval($1::text::regclass, greatest($2, (`+lastNumber(table)+`)))`, name, int64(n))
		return err
	})
}
