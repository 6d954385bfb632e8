package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage/engine"
)

// A place is a key of a table.
type place struct {
	table int16
	key   string
}

// A cell is what a step read at a place.
type cell struct {
	rev    int64  // 0: nothing is there
	value  []byte // nil: nothing is there
	relied bool   // the revision is compared at the end; else a span has it
}

// tx is one run of a step.
type tx struct {
	ctx  context.Context
	eng  *Engine
	conn *pgxpool.Conn
	at   *attempt

	bare   bool    // the next read needs no transaction: it is the first one
	begun  bool    // a transaction is open
	held   lockSet // locks that it has; nil: it reads as of one moment
	cells  map[place]cell
	spans  []span
	loaded []*scanner                // ranges that were loaded
	ready  map[engine.Table][]uint64 // numbers that were loaded
	writes map[place][]byte          // nil: to delete
	err    error                     // why the run is worth nothing
}

func newTx(ctx context.Context, e *Engine, conn *pgxpool.Conn, a *attempt) *tx {
	return &tx{
		ctx: ctx, eng: e, conn: conn, at: a, begun: e.asOf != nil, bare: a.disturbed == 0,
		cells: make(map[place]cell), writes: make(map[place][]byte),
	}
}

// failed is fail for what may be no error.
func (x *tx) failed(err error) error {
	if err == nil {
		return nil
	}
	return x.fail(err)
}

// fail keeps the first error of the database.
func (x *tx) fail(err error) error {
	if x.err == nil {
		x.err = err
	}
	return err
}

// table returns the number of a table. One that is not known is registered before the
// next run.
func (x *tx) table(t engine.Table) (int16, error) {
	if n, ok := x.eng.tables.Load(t); ok {
		return n.(int16), x.err
	}
	return 0, x.needs(func(ctx context.Context) error { return x.eng.add(ctx, t) })
}

// needs ends the run, so that something is done before the next one.
func (x *tx) needs(do func(context.Context) error) error {
	x.at.need = do
	return x.fail(errNeed)
}

// Get implements [engine.Reader].
func (x *tx) Get(t engine.Table, key []byte) ([]byte, error) {
	n, err := x.table(t)
	if err != nil {
		return nil, err
	}
	p := place{n, string(key)}
	if v, ok := x.writes[p]; ok {
		return v, nil
	}
	if !x.known(p) {
		if err := x.fetch([]place{p}); err != nil {
			return nil, err
		}
	}
	return x.cells[p].value, nil
}

// Load implements [engine.Reader].
func (x *tx) Load(keys ...engine.Key) error {
	var missing []place
	var leads []lead
	numbers := make(map[engine.Table]int)
	for _, k := range keys {
		n, err := x.table(k.Table)
		if err != nil {
			return err
		}
		if len(k.Key) == 0 {
			numbers[k.Table]++
			continue
		}
		p := place{n, string(k.Key)}
		if _, changed := x.writes[p]; changed || x.known(p) {
			continue
		}
		missing = append(missing, p)
		for i, t := range k.Then {
			if t == "" {
				continue
			}
			to, err := x.table(t)
			if err != nil {
				return err
			}
			leads = append(leads, lead{len(missing) - 1, to, 4 * i})
		}
	}
	return x.ask(x.askNumbers(numbers), x.askCells(missing, leads)...)
}

// A lead is the 4 bytes at an offset of the value of a place, by its index: a key of a table.
type lead struct {
	from  int
	table int16
	at    int
}

// known reports whether what is stored at a place was read.
func (x *tx) known(p place) bool {
	if _, ok := x.cells[p]; ok {
		return true
	}
	return slices.ContainsFunc(x.spans, func(s span) bool { return s.contains(p) })
}

// Statements that read entries. readLeads has in addition those of the tables $4 whose keys are in
// the values of the entries $3, counted from 1, at the offsets $5.
const (
	readKeys  = `SELECT e.t, e.k, e.r, e.v FROM unnest($1::smallint[], $2::bytea[]) AS q(t, k) JOIN entries e ON e.t = q.t AND e.k = q.k`
	readLeads = `WITH a AS MATERIALIZED (SELECT q.i, e.* FROM unnest($1::smallint[], $2::bytea[]) WITH ORDINALITY AS q(t, k, i) JOIN entries e ON e.t = q.t AND e.k = q.k)
SELECT t, k, r, v FROM a UNION ALL SELECT e.t, e.k, e.r, e.v FROM a JOIN unnest($3::bigint[], $4::smallint[], $5::int[]) AS q(i, t, n) ON q.i = a.i
	JOIN entries e ON e.t = q.t AND e.k = substring(a.v FROM q.n FOR 4)`
)

// A question is a statement that reads, and what uses its rows.
type question struct {
	use  func(pgx.Rows) error
	sql  string
	args []any
}

// fetch reads places.
func (x *tx) fetch(places []place) error { return x.ask(nil, x.askCells(places, nil)...) }

// askCells asks for places, and for those to which their values lead.
func (x *tx) askCells(places []place, leads []lead) []question {
	if len(places) == 0 {
		return nil
	}
	tables, keys := lists(places)
	if len(leads) == 0 {
		return []question{{x.keepCells(places, nil), readKeys, []any{tables, keys}}}
	}
	var from []int64
	var to []int16
	var at []int32
	for _, l := range leads {
		from, to, at = append(from, int64(l.from)+1), append(to, l.table), append(at, int32(l.at)+1)
	}
	return []question{{x.keepCells(places, leads), readLeads, []any{tables, keys, from, to, at}}}
}

// keepCells returns what reads the rows of the answer.
func (x *tx) keepCells(places []place, leads []lead) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		found := make(map[place]cell, len(places)+len(leads))
		var p struct {
			table      int16
			key, value []byte
			rev        int64
		}
		_, err := pgx.ForEachRow(rows, []any{&p.table, &p.key, &p.rev, &p.value}, func() error {
			found[place{p.table, string(p.key)}] = cell{p.rev, p.value, true}
			p.value = nil
			return nil
		})
		keep := func(p place) []byte {
			if !x.known(p) {
				c := found[p]
				c.relied = true
				x.cells[p] = c
			}
			return x.cells[p].value
		}
		for _, p := range places {
			keep(p)
		}
		for _, l := range leads {
			if v := x.cells[places[l.from]].value; len(v) >= l.at+4 {
				keep(place{l.table, string(v[l.at : l.at+4])})
			}
		}
		return err
	}
}

// lists returns the tables and keys of places as arrays of PostgreSQL.
func lists(places []place) (tables []int16, keys [][]byte) {
	for _, p := range places {
		tables, keys = append(tables, p.table), append(keys, []byte(p.key))
	}
	return tables, keys
}

// ask runs statements that take numbers, and one that reads entries or none, in one round
// trip, together with what must come before them.
func (x *tx) ask(numbers []question, reads ...question) error {
	all := append(numbers, reads...)
	if x.err != nil || len(all) == 0 {
		return x.err
	}
	var b pgx.Batch
	begins := len(reads) > 0 && !x.begun && !x.bare
	compares := begins && len(x.cells)+len(x.spans) > 0
	if begins {
		b.Queue(x.begin())
	}
	if compares {
		b.Queue(compareReads, x.reads()...)
	}
	x.begun, x.bare = x.begun || begins, x.bare && len(reads) == 0
	if b.Len() == 0 && len(all) == 1 {
		rows, err := x.conn.Query(x.ctx, all[0].sql, all[0].args...)
		if err == nil {
			err = all[0].use(rows)
		}
		return x.failed(err)
	}
	for _, q := range all {
		b.Queue(q.sql, q.args...)
	}
	results := x.conn.SendBatch(x.ctx, &b)
	var err error
	if begins {
		_, err = results.Exec()
	}
	if err == nil && compares {
		err = same(results)
	}
	for _, q := range all {
		var rows pgx.Rows
		if err == nil {
			rows, err = results.Query()
		}
		if err == nil {
			err = q.use(rows)
		}
	}
	return x.failed(closeBatch(results, err))
}

// begin is the statement that begins a transaction that sees one moment. That of a change
// may take numbers.
func (x *tx) begin() string {
	if x.at.reads {
		return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	}
	return `BEGIN ISOLATION LEVEL REPEATABLE READ`
}

// Put implements [engine.Tx].
func (x *tx) Put(t engine.Table, key, value []byte) error {
	if len(key) == 0 || len(key) > engine.MaxKey || len(value) > engine.MaxValue {
		return fmt.Errorf("%s: a key of %d bytes with a value of %d", t, len(key), len(value))
	}
	if value == nil {
		value = []byte{} // nil would be no value
	}
	return x.write(t, key, value)
}

// Vacant implements [engine.Tx]. The commit compares what is there. After a run that was
// disturbed keys are read.
func (x *tx) Vacant(t engine.Table, key []byte) error {
	n, err := x.table(t)
	p := place{n, string(key)}
	if _, wrote := x.writes[p]; err == nil && x.at.disturbed == 0 && !wrote && !x.known(p) {
		x.cells[p] = cell{relied: true}
	}
	return err
}

// Delete implements [engine.Tx].
func (x *tx) Delete(t engine.Table, key []byte) error { return x.write(t, key, nil) }

func (x *tx) write(t engine.Table, key, value []byte) error {
	n, err := x.table(t)
	if err == nil {
		x.writes[place{n, string(key)}] = value
	}
	return err
}

// own returns the changes of a table in a range, in its order.
func (x *tx) own(t int16, r *engine.Range) []engine.Entry {
	var list []engine.Entry
	for p, v := range x.writes {
		if key := []byte(p.key); p.table == t && r.Contains(key) {
			list = append(list, engine.Entry{Key: key, Value: v})
		}
	}
	slices.SortFunc(list, func(a, b engine.Entry) int { return order(a.Key, b.Key, r.Backward) })
	return list
}

// order compares keys in the order of a scan.
func order(a, b []byte, backward bool) int {
	if backward {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}
