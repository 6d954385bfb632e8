package sake

import (
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Bounds of a search.
const (
	maxFound      = MaxReplyRecords + 1 // records that a search finds: one too many shows that the reply lacks some
	maxOffset     = 1 << 30
	workPerRecord = 1024 // units of work that scan_records allows for each record
	recordBatch   = 16   // records in memory at once
)

var errSpent = errors.New("the search looked at too many records")

// search is a search that is compiled, or about to be.
type search struct {
	columns columns
	filter  *filter
	target  *filter // nil: none
	order   order
	scan    storage.SakeScan
	offset  int
	most    int
	around  int // records before and after the target
}

// compile reads the filter of a request.
func (c *call) compile(t *storage.SakeTable) (*search, error) {
	s := &search{columns: columns{table: t, declared: isDeclared(&c.table)}, most: maxFound}
	var err error
	if s.filter, err = parseFilter(c.q.Body.Text("filter"), &s.columns); err != nil {
		return nil, filterInvalid
	}
	if c.table.Read == games.OwnerOnly {
		s.scan.Owners = []storage.ProfileID{c.profile}
	}
	return s, nil
}

// searchForRecords returns the records that match a filter.
func (c *call) searchForRecords() (func(*soap.Writer), error) {
	t, fields, err := c.reading()
	if err != nil {
		return nil, err
	}
	s, err := c.compile(&t)
	if err != nil {
		return nil, err
	}
	body := c.q.Body
	if s.order, err = parseSort(body.Text("sort"), &s.columns); err != nil {
		return nil, sortInvalid
	}
	if text := body.Text("targetfilter"); strings.TrimSpace(text) != "" {
		if s.target, err = parseFilter(text, &s.columns); err != nil {
			return nil, targetFilterInvalid
		}
	}
	offset, _ := body.Int("offset")
	most, _ := body.Int("max")
	around, _ := body.Int("surrounding")
	s.offset, s.most = int(min(max(offset, 0), maxOffset)), int(min(max(most, 0), maxFound))
	s.around = int(min(max(around, 0), maxFound))
	if !c.selectOwners(s) {
		return c.records(nil, fields)
	}
	if s.target != nil {
		ids, at, err := c.runTarget(s)
		if err != nil {
			return nil, err
		}
		return c.recordsAround(ids, at, fields)
	}
	return c.found(s, fields)
}

// found returns the records that a search without target finds.
func (c *call) found(s *search, fields []field) (func(*soap.Writer), error) {
	ids, err := c.run(s)
	if err != nil {
		return nil, err
	}
	return c.records(ids, fields)
}

// selectOwners restricts a search to the owners that a request names. It returns false
// if the player may see the records of none of them.
func (c *call) selectOwners(s *search) bool {
	var owners []storage.ProfileID
	for _, n := range c.numbers("ownerids") {
		if n <= storage.MaxAccountID {
			owners = append(owners, storage.ProfileID(n))
		}
	}
	if len(c.numbers("ownerids")) == 0 {
		return true
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	if c.table.Read == games.OwnerOnly {
		return slices.Contains(owners, c.profile)
	}
	s.scan.Owners = owners
	return len(owners) > 0
}

// getRandomRecords returns some of the records that match a filter.
func (c *call) getRandomRecords() (func(*soap.Writer), error) {
	t, fields, err := c.reading()
	if err != nil {
		return nil, err
	}
	s, err := c.compile(&t)
	if err != nil {
		return nil, err
	}
	most, _ := c.q.Body.Int("max")
	s.most, s.order = int(min(max(most, 0), maxFound)), order{random: true, seed: maphash.MakeSeed()}
	return c.found(s, fields)
}

// getRecordCount counts the records that match a filter.
func (c *call) getRecordCount() (func(*soap.Writer), error) {
	t, err := c.find()
	if err != nil {
		return nil, err
	}
	s, err := c.compile(&t)
	if err != nil {
		return nil, err
	}
	n := t.Records
	if !s.filter.all() || len(s.scan.Owners) > 0 {
		n = 0
		if err := c.visit(s, func(*storage.SakeRow, *slots) bool { n++; return true }); err != nil {
			return nil, err
		}
	}
	return func(w *soap.Writer) { w.Int("count", int64(n)) }, nil
}

// visit calls use with the rows that match the filter of a search, until it returns
// false. No more searches run at once than there are processors.
func (c *call) visit(s *search, use func(*storage.SakeRow, *slots) bool) error {
	select {
	case c.scans <- struct{}{}:
		defer func() { <-c.scans }()
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	if s.columns.rated {
		s.scan.Rater = c.profile
	}
	values := s.columns.newSlots()
	rows, spent := 0, false
	most := c.limits.ScanRecords
	err := c.opt.Store.ScanSake(c.ctx, c.id, s.scan, func(r *storage.SakeRow) bool {
		if rows++; rows > most || values.work > most*workPerRecord {
			spent = true
			return false
		}
		values.read(r)
		return !s.filter.match(values) || use(r, values)
	})
	c.metrics.scanned.Add(float64(rows))
	switch {
	case errors.Is(err, storage.ErrNoTable): // the games file has it
		return nil
	case err == nil && spent:
		c.metrics.spent.Inc()
		return errSpent
	}
	return err
}

// inOrder reports whether a scan has the rows in the order of the search.
func (s *search) inOrder() bool {
	return len(s.order.by) == 0 && !s.order.random && len(s.scan.Owners) <= 1
}

// run returns the ids of the records that a search without target finds, in its order.
func (c *call) run(s *search) ([]uint32, error) {
	if s.most == 0 {
		return nil, nil
	}
	f := finding{order: s.order, most: s.offset + s.most}
	ordered := s.inOrder()
	var row found
	err := c.visit(s, func(r *storage.SakeRow, values *slots) bool {
		s.order.read(&row, r.ID, values)
		f.add(&row)
		return !ordered || len(f.rows) < f.most
	})
	if err != nil {
		return nil, err
	}
	ids := f.ids()
	return ids[min(s.offset, len(ids)):], nil
}

// runTarget is run with a target: the first record that matches it, whose index is at, and
// those around it. It scans twice, because only a whole scan finds the target, and keeps
// few rows.
func (c *call) runTarget(s *search) (ids []uint32, at int, err error) {
	if s.most == 0 {
		return nil, 0, nil
	}
	first := finding{order: s.order, most: 1}
	ordered := s.inOrder()
	var row found
	err = c.visit(s, func(r *storage.SakeRow, values *slots) bool {
		if !s.target.match(values) {
			return true
		}
		s.order.read(&row, r.ID, values)
		first.add(&row)
		return !ordered
	})
	if err != nil || len(first.rows) == 0 {
		return nil, 0, err
	}
	before, after, err := c.neighbors(s, &first.rows[0])
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(before)
	ids, at = window(slices.Concat(before, first.ids(), after), len(before), s.most)
	return ids, at, nil
}

// neighbors returns the ids of the records before a target, the nearest first, and of
// those after it.
func (c *call) neighbors(s *search, target *found) (before, after []uint32, err error) {
	if s.around == 0 {
		return nil, nil, nil
	}
	reversed := s.order
	reversed.falling = true
	left, right := finding{order: reversed, most: s.around}, finding{order: s.order, most: s.around}
	ordered := s.inOrder()
	var row found
	err = c.visit(s, func(r *storage.SakeRow, values *slots) bool {
		if r.ID == target.id {
			return true // it may have changed since the first scan
		}
		s.order.read(&row, r.ID, values)
		if s.order.compare(&row, target) < 0 {
			left.add(&row)
		} else {
			right.add(&row)
		}
		return !ordered || len(right.rows) < s.around
	})
	return left.ids(), right.ids(), err
}

// records returns the values of a reply: the fields of some records. Those beyond
// MaxReplyRecords and MaxReplySize are left out.
func (c *call) records(ids []uint32, fields []field) (func(*soap.Writer), error) {
	return c.recordsAround(ids, 0, fields)
}

// recordsAround is records with the index of a record that is left out last: those that are
// farthest from it are first.
func (c *call) recordsAround(ids []uint32, target int, fields []field) (func(*soap.Writer), error) {
	if len(ids) > MaxReplyRecords {
		ids, target = window(ids, target, MaxReplyRecords)
		c.leftOut(boundRecords)
	}
	out, err := c.write(ids, target, fields)
	if err != nil {
		return nil, err
	}
	return func(w *soap.Writer) {
		if out.Len() == 0 {
			w.Raw("<values />")
			return
		}
		w.Open("values")
		w.Add(out)
		w.Close()
	}, nil
}

// write returns the fields of some records that the player may read. Once they have
// MaxReplySize, the others are left out.
func (c *call) write(ids []uint32, target int, fields []field) (*soap.Writer, error) {
	rated := slices.ContainsFunc(fields, func(f field) bool { return f.auto == myRating })
	out := newHalves(ids, target)
	for records, err := range c.batches(c.ctx, ids, target) {
		if err != nil && !errors.Is(err, storage.ErrNoTable) {
			return nil, err
		}
		mine, err := c.ratings(records, rated)
		if err != nil {
			return nil, err
		}
		for i := range records {
			if c.table.Read == games.OwnerOnly && records[i].Owner != c.profile {
				continue
			}
			if out.size > MaxReplySize {
				c.leftOut(boundSize)
				return out.whole(), nil
			}
			out.add(records[i].ID, func(w *soap.Writer) { writeRecord(w, &records[i], mine[i], fields, c.opt.Files) })
		}
	}
	return out.whole(), nil
}

// ratings returns the player's ratings of some records, if they are needed.
func (c *call) ratings(records []storage.SakeRecord, needed bool) ([]int, error) {
	if !needed || len(records) == 0 {
		return make([]int, len(records)), nil
	}
	ids := make([]uint32, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	return c.opt.Store.SakeRatings(c.ctx, c.id, c.profile, ids)
}

// result is the result of a request, as replies name it. Its texts are those of the clients.
type result uint8

const (
	success result = iota
	secretKeyInvalid
	serviceDisabled
	databaseUnavailable
	loginTicketInvalid
	loginTicketExpired
	tableNotFound
	recordNotFound
	fieldNotFound
	fieldTypeInvalid
	noPermission
	recordLimitReached
	alreadyRated
	notRateable
	notOwned
	filterInvalid
	sortInvalid
	targetFilterInvalid
	certificateInvalid // known to the client library of 2012 alone
	unknownError
)

// resultNames are the results on the wire, by number.
var resultNames = [...]string{
	"Success", "SecretKeyInvalid", "ServiceDisabled", "DatabaseUnavailable", "LoginTicketInvalid", "LoginTicketExpired", "TableNotFound",
	"RecordNotFound", "FieldNotFound", "FieldTypeInvalid", "NoPermission", "RecordLimitReached", "AlreadyRated", "NotRateable", "NotOwned",
	"FilterInvalid", "SortInvalid", "TargetFilterInvalid", "CertificateInvalid", "UnknownError",
}

// String returns the text on the wire.
func (r result) String() string { return resultNames[r] }

// Error makes a result the error of the method that it ends.
func (r result) Error() string { return r.String() }
