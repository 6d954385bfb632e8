package fesl

import (
	"context"
	"errors"
	"strings"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the records of a player, such as the dog tags of Bad Company 2.
const (
	maxRecordValues = 500 // of all records of a player in a game, so that they fit in an answer
	maxRecordBytes  = 96 << 10
	maxRecordName   = 32 // bytes, of a record
	maxRecordKey    = 64 // bytes, of a value
)

// recordIndex is the index of the block with the records of a profile. Its keys are the name of a record, a colon
// and the key of a value.
const recordIndex = 1

// recordBlock is where the records of a profile are kept, which only this service writes.
func (x ledger) recordBlock(p storage.ProfileID) storage.StatBlockID {
	id := x.block(p)
	id.Index = recordIndex
	return id
}

// record answers with the values of a record of any player.
func (x ledger) record(ctx context.Context, r *request, answer *wire.Text) error {
	block, err := x.server.opt.Stats.Get(ctx, x.recordBlock(x.ownerOf(r.Get("owner"))))
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrInvalid) {
		return err
	}
	var values wire.Text
	for _, p := range pageOf(block.Data).pairs {
		if key, ok := strings.CutPrefix(p.Key, r.Get("recordName")+":"); ok {
			values.Add("values.{"+string(wire.AppendValue(nil, key))+"}", p.Value)
		}
	}
	if len(values) == 0 {
		return refuse(codeNoRecord, "There is no such record.")
	}
	answer.AddNumber("TTL", 0)
	answer.AddNumber("state", 1)
	answer.Add("lastModified", wire.Time(block.Modified))
	answer.AddNumber("values.{}", int64(len(values)))
	*answer = append(*answer, values...)
	return nil
}

// setRecord keeps values of a record of the client's own player, beside those that it has. It keeps those of
// games whose players write records, and drops those of other players.
func (x ledger) setRecord(ctx context.Context, r *request, answer *wire.Text) error {
	name := r.Get("recordName")
	if !fits(name, maxRecordName) || strings.Contains(name, ":") {
		return badField("recordName", fieldInvalid)
	}
	values, err := recordValues(r.Text)
	if err != nil {
		return err
	}
	answer.AddNumber("TTL", 0)
	switch {
	case x.ownerOf(r.Get("owner")) != x.player.profile:
		x.server.opt.Metrics.Drop(droppedStats.Error())
		return nil
	case len(values) == 0 || !x.title.records:
		return nil
	}
	_, err = x.server.opt.Stats.Edit(ctx, x.recordBlock(x.player.profile), func(old []byte) ([]byte, error) {
		page := pageOf(old)
		for _, v := range values {
			page.set(name+":"+v.Key, v.Value)
		}
		data := stats.AppendPairs(nil, page.pairs)
		if len(page.pairs) > maxRecordValues || len(data) > maxRecordBytes {
			return nil, stats.ErrFull
		}
		return data, nil
	})
	if errors.Is(err, stats.ErrTooLarge) || errors.Is(err, stats.ErrFull) {
		return refuse(codeTooMany, "There is no room for more records.")
	}
	return err
}

// recordValues reads the values of a record: values.{key}=value.
func recordValues(t wire.Text) (values wire.Text, err error) {
	const head, end = "values.{", "}"
	for _, f := range t {
		if len(f.Key) <= len(head)+len(end) || !ascii.EqualFold(f.Key[:len(head)], head) || !strings.HasSuffix(f.Key, end) {
			continue
		}
		key := wire.Unescape(f.Key[len(head) : len(f.Key)-len(end)])
		if !fits(key, maxRecordKey) || f.Value != "" && !fits(f.Value, wire.MaxValue) {
			return nil, badField("values", fieldInvalid)
		}
		values.Add(key, f.Value)
	}
	return values, nil
}
