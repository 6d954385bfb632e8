package sake

import (
	"errors"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// createRecord stores a record of the player.
func (c *call) createRecord() (func(*soap.Writer), error) {
	if c.table.Write == games.NoPlayer {
		return nil, noPermission
	}
	fields, err := c.values()
	if err != nil {
		return nil, err
	}
	id, err := c.opt.Store.CreateSakeRecord(c.ctx, c.id, c.profile, fields, c.limits.limits(c.table.Limit))
	if err != nil {
		return nil, err
	}
	return func(w *soap.Writer) { w.Int("recordid", int64(id)) }, nil
}

// writer returns the owner whose records the player may change; 0: any owner.
func (c *call) writer() (storage.ProfileID, error) {
	switch c.table.Write {
	case games.NoPlayer:
		return 0, noPermission
	case games.AllPlayers:
		return 0, nil
	default:
		return c.profile, nil
	}
}

// recordID reads the id of a record. One that no record can have is 0.
func (c *call) recordID() uint32 {
	n, ok := c.q.Body.Int("recordid")
	if !ok || n < 0 || n > storage.MaxSakeID {
		return 0
	}
	return uint32(n)
}

// updateRecord changes fields of a record.
func (c *call) updateRecord() (func(*soap.Writer), error) {
	owner, err := c.writer()
	if err != nil {
		return nil, err
	}
	fields, err := c.values()
	if err != nil {
		return nil, err
	}
	if err := c.needTable(); err != nil {
		return nil, err
	}
	return nil, c.opt.Store.UpdateSakeRecord(c.ctx, c.id, c.recordID(), owner, fields, c.limits.limits(c.table.Limit))
}

func (c *call) deleteRecord() (func(*soap.Writer), error) {
	owner, err := c.writer()
	if err != nil {
		return nil, err
	}
	if err := c.needTable(); err != nil {
		return nil, err
	}
	return nil, c.opt.Store.DeleteSakeRecord(c.ctx, c.id, c.recordID(), owner)
}

// find returns the table. One that only the games file has is empty.
func (c *call) find() (storage.SakeTable, error) {
	t, err := c.opt.Store.GetSakeTable(c.ctx, c.id)
	if errors.Is(err, storage.ErrNoTable) && c.table.Name != "" {
		return storage.SakeTable{SakeTableID: c.id}, nil
	}
	return t, err
}

// reading returns the table and the fields of its records that a request names.
func (c *call) reading() (t storage.SakeTable, fields []field, err error) {
	if t, err = c.find(); err == nil {
		fields, err = c.fields(&t)
	}
	return t, fields, err
}

// needTable returns recordNotFound in the place of tableNotFound for a table that only
// the games file has.
func (c *call) needTable() error {
	if c.table.Name == "" {
		return nil
	}
	if _, err := c.opt.Store.GetSakeTable(c.ctx, c.id); errors.Is(err, storage.ErrNoTable) {
		return recordNotFound
	}
	return nil
}

// rateRecord adds the player's rating to a record.
func (c *call) rateRecord() (func(*soap.Writer), error) {
	if c.table.NotRateable {
		return nil, notRateable
	}
	rating, ok := c.q.Body.Int("rating")
	if !ok || rating < 0 || rating > 255 {
		return nil, notRateable
	}
	if err := c.needTable(); err != nil {
		return nil, err
	}
	sum, err := c.opt.Store.RateSakeRecord(c.ctx, c.id, c.recordID(), c.profile, int(rating))
	if errors.Is(err, storage.ErrTaken) {
		return nil, alreadyRated
	}
	if err != nil {
		return nil, err
	}
	return func(w *soap.Writer) {
		w.Int("numRatings", int64(sum.Ratings))
		w.Text("averageRating", strconv.FormatFloat(float64(average(sum.Ratings, sum.Sum)), 'f', -1, 32))
	}, nil
}

// getRecordLimit tells how many records the player may own.
func (c *call) getRecordLimit() (func(*soap.Writer), error) {
	if _, err := c.find(); err != nil {
		return nil, err
	}
	n, err := c.opt.Store.SakeOwned(c.ctx, c.id, c.profile)
	if err != nil && !errors.Is(err, storage.ErrNoTable) {
		return nil, err
	}
	limits := c.limits.limits(c.table.Limit)
	return func(w *soap.Writer) {
		w.Int("limitPerOwner", int64(limits.PerOwner))
		w.Int("numOwned", int64(n.Records))
	}, nil
}

func (c *call) getMyRecords() (func(*soap.Writer), error) {
	t, fields, err := c.reading()
	if err != nil {
		return nil, err
	}
	s := search{columns: columns{table: &t}, scan: storage.SakeScan{Owners: []storage.ProfileID{c.profile}}, most: maxFound}
	if s.filter, err = parseFilter("", &s.columns); err != nil {
		return nil, err
	}
	return c.found(&s, fields)
}

// getSpecificRecords returns records by their ids, in that order.
func (c *call) getSpecificRecords() (func(*soap.Writer), error) {
	_, fields, err := c.reading()
	if err != nil {
		return nil, err
	}
	var ids []uint32
	for _, n := range c.numbers("recordids") {
		if n <= storage.MaxSakeID && len(ids) < maxFound {
			ids = append(ids, uint32(n))
		}
	}
	return c.records(ids, fields)
}

// numbers reads a list of positive numbers; others are left out.
func (c *call) numbers(name string) (all []int64) {
	list := c.q.Body.Child(name)
	if list == nil {
		return nil
	}
	for _, e := range list.Children {
		if n, err := strconv.ParseInt(e.Value, 10, 64); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	return all
}
