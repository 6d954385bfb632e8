// Package clans knows the clans of Red Alert 3 and their members. It keeps them as records that games read
// (SAKE), in a table that only operators write: how players made clans at EA's site was never seen.
//
// It knows no matches of clans, and asks no permission.
package clans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// Table has a record for each member, which belongs to the profile.
var Table = storage.SakeTableID{Game: "redalert3pc", Name: "clans"}

// Limits of clans. What the game can show was never seen.
const (
	MaxTag     = 8  // bytes of visible ASCII
	MaxName    = 32 // bytes
	MaxMembers = 10_000
)

// The fields of a record.
const (
	fieldClan = "clanid" // number of the record of the first member; 0: it is this one
	fieldTag  = "clantag"
	fieldName = "clanname"
	fieldRank = "rank"
)

// The ranks of members. The game takes every number from 1 on for that of a member.
const (
	RankMember = 1
	MaxRank    = 255
)

// Member is a member of a clan. A profile is in one clan at most.
type Member struct {
	Profile storage.ProfileID `json:"profile"`
	ID      uint32            `json:"id"`   // of the membership
	Clan    uint32            `json:"clan"` // of the clan
	Tag     string            `json:"tag"`  // case does not distinguish clans
	Name    string            `json:"name"` // of the clan
	Rank    int               `json:"rank"`
}

// Store keeps the records. See storage.Sake for the methods.
type Store interface {
	CreateSakeRecord(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID, fields []storage.SakeField, lim storage.SakeLimits) (uint32, error)
	UpdateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID, fields []storage.SakeField, lim storage.SakeLimits) error
	DeleteSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID) error
	Reader
}

// Reader reads the records.
type Reader interface {
	SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) ([]storage.SakeRecord, error)
	ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error
}

// Of returns the membership of a profile. The error is storage.ErrNotFound if it is in no clan.
func Of(ctx context.Context, s Reader, p storage.ProfileID) (Member, error) {
	list, err := read(ctx, s, storage.SakeScan{Owners: []storage.ProfileID{p}})
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return Member{}, err
	}
	return list[0], nil
}

// List returns all members, the oldest first.
func List(ctx context.Context, s Reader) ([]Member, error) { return read(ctx, s, storage.SakeScan{}) }

// read returns the members of a scan.
func read(ctx context.Context, s Reader, scan storage.SakeScan) ([]Member, error) {
	var ids []uint32
	err := s.ScanSake(ctx, Table, scan, func(r *storage.SakeRow) bool {
		ids = append(ids, r.ID)
		return len(ids) < MaxMembers
	})
	if errors.Is(err, storage.ErrNoTable) || err == nil && len(ids) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := s.SakeRecords(ctx, Table, ids)
	list := make([]Member, len(records))
	for i := range records {
		list[i] = memberOf(&records[i])
	}
	return list, err
}

// memberOf returns the member of a record.
func memberOf(r *storage.SakeRecord) Member {
	value := func(name string) storage.SakeValue {
		v, _ := r.Field(name) // zero: there is none
		return v
	}
	return Member{
		Profile: r.Owner, ID: r.ID, Clan: cmp.Or(uint32(value(fieldClan).Num), r.ID),
		Tag: string(value(fieldTag).Text), Name: string(value(fieldName).Text), Rank: int(value(fieldRank).Num),
	}
}

// Join makes a profile a member of the clan with a tag, and returns it with its numbers. The first member makes
// the clan, with m.Name; that of others does not count. The error is storage.ErrNotFound for an unknown
// profile, storage.ErrTaken for one that is in a clan, storage.ErrFull, or matches storage.ErrInvalid.
func Join(ctx context.Context, s Store, m Member) (Member, error) {
	m.Name = cmp.Or(m.Name, m.Tag)
	if err := m.check(); err != nil {
		return m, err
	}
	all, err := List(ctx, s)
	if err == nil && len(all) >= MaxMembers {
		err = storage.ErrFull
	}
	if err != nil {
		return m, err
	}
	found := m.takeClan(all)
	m.ID, err = s.CreateSakeRecord(ctx, Table, m.Profile, m.fields(), storage.SakeLimits{PerOwner: 1})
	if errors.Is(err, storage.ErrFull) && slices.ContainsFunc(all, func(o Member) bool { return o.Profile == m.Profile }) {
		err = storage.ErrTaken
	}
	if errors.Is(err, storage.ErrNotFound) {
		err = storage.ErrNotFound // of the profile, without the words of the record
	}
	if err != nil || found {
		return m, err
	}
	// Of two that make one clan at once, that of the older record counts.
	if all, err = List(ctx, s); err != nil {
		return m, err
	}
	m.takeClan(all)
	if m.Clan == m.ID {
		return m, nil
	}
	return m, s.UpdateSakeRecord(ctx, Table, m.ID, m.Profile, m.fields(), storage.SakeLimits{})
}

// takeClan enters the clan of the oldest member with the tag. It reports whether there is one.
func (m *Member) takeClan(all []Member) bool {
	i := slices.IndexFunc(all, func(o Member) bool { return strings.EqualFold(o.Tag, m.Tag) })
	if i < 0 {
		return false
	}
	m.Clan, m.Tag, m.Name = all[i].Clan, all[i].Tag, all[i].Name
	return true
}

// Leave ends the membership of a profile. The error is storage.ErrNotFound if it is in no clan.
func Leave(ctx context.Context, s Store, p storage.ProfileID) (Member, error) {
	m, err := Of(ctx, s, p)
	if err != nil {
		return m, err
	}
	return m, s.DeleteSakeRecord(ctx, Table, m.ID, p)
}

func (m *Member) check() error {
	switch {
	case m.Tag == "" || len(m.Tag) > MaxTag || strings.ContainsFunc(m.Tag, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("%w: the tag of a clan has 1 to %d visible characters of ASCII", storage.ErrInvalid, MaxTag)
	case len(m.Name) > MaxName || strings.ContainsFunc(m.Name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }):
		return fmt.Errorf("%w: the name of a clan has at most %d bytes, and no control characters", storage.ErrInvalid, MaxName)
	case m.Rank < RankMember || m.Rank > MaxRank:
		return fmt.Errorf("%w: the rank of a member is from %d to %d", storage.ErrInvalid, RankMember, MaxRank)
	}
	return nil
}

func (m *Member) fields() []storage.SakeField {
	return []storage.SakeField{
		{Name: fieldClan, Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(m.Clan)}},
		{Name: fieldTag, Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte(m.Tag)}},
		{Name: fieldName, Value: storage.SakeValue{Type: storage.SakeUnicode, Text: []byte(m.Name)}},
		{Name: fieldRank, Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(m.Rank)}},
	}
}
