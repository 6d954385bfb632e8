package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/internal/clans"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// ListClans returns the members of all clans, the oldest first.
var ListClans = New(Operation{
	Name: "clan list", Route: "GET /clans", What: "Show the clans of Red Alert 3 and their members", About: noun.Stats,
}, func(ctx context.Context, l *Local, _ None) ([]clans.Member, error) {
	list, err := clans.List(ctx, l.Store)
	return append([]clans.Member{}, list...), err // never null as JSON
})

// NewClanMember is a player to be made a member of a clan.
type NewClanMember struct {
	Profile storage.ProfileID `json:"profile" arg:"PROFILE"`
	Tag     string            `json:"tag" arg:"TAG"`
	Name    string            `json:"name,omitzero" flag:"name" doc:"name of a new clan; missing: the tag"`
	Rank    int               `json:"rank,omitzero" flag:"rank" default:"1" doc:"1 to 255, for the game"`
}

// AddClanMember makes a player a member of a clan, and makes the clan if there is none with the tag.
// ErrBadRequest: the player is in a clan, or a text is not valid. storage.ErrNotFound: there is no such profile.
var AddClanMember = New(Operation{
	Name: "clan add", Route: "POST /clans", What: "Make a player a member of a clan, new or not", About: noun.Stats,
}, func(ctx context.Context, l *Local, in NewClanMember) (clans.Member, error) {
	ctx = aboutID(ctx, uint32(in.Profile), "clan "+in.Tag, "profile "+strconv.FormatUint(uint64(in.Profile), 10))
	m, err := clans.Join(ctx, l.Store, clans.Member{Profile: in.Profile, Tag: in.Tag, Name: in.Name, Rank: in.Rank})
	switch {
	case errors.Is(err, storage.ErrTaken):
		err = fmt.Errorf("%w: the player is in a clan: remove it from there first", ErrBadRequest)
	case errors.Is(err, storage.ErrInvalid):
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return m, subject(err, "profile %d", in.Profile)
})

// ClanRef names a member of a clan.
type ClanRef struct {
	Profile storage.ProfileID `path:"profile" arg:"PROFILE"`
}

// RemoveClanMember takes a player out of its clan. storage.ErrNotFound: it is in none.
var RemoveClanMember = New(Operation{
	Name: "clan remove", Route: "DELETE /clans/{profile}", What: "Take a player out of its clan", About: noun.Stats,
}, func(ctx context.Context, l *Local, in ClanRef) (clans.Member, error) {
	id := strconv.FormatUint(uint64(in.Profile), 10)
	m, err := clans.Leave(aboutID(ctx, uint32(in.Profile), "clan", "profile "+id), l.Store, in.Profile)
	return m, subject(err, "clan of profile %d", in.Profile)
})
