package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Limits of one call about statistics.
const (
	MaxGameReports = 100 // MaxGameReports is how many reported games GameStats returns.
	MaxStatsImport = 500 // MaxStatsImport is how many players ImportStats stores.

	topScores   = 10
	statPreview = 200 // characters of a block
)

// GameStatsQuery selects statistics of a game.
type GameStatsQuery struct {
	Game    string `path:"name" arg:"GAME"`
	Reports int    `query:"reports"` // how many; 0: 10, at most MaxGameReports
}

// GameStats is the stored data of a game.
type GameStats struct {
	Game    string       `json:"game"`
	Boards  []Board      `json:"boards"`
	Reports []GameReport `json:"reports"` // the newest first
}

// Board is a board of a game with its first scores.
type Board struct {
	Name   string          `json:"name"`
	Title  string          `json:"title,omitzero"`
	Scores []RankedProfile `json:"scores"`
}

// RankedProfile is a score with the nick of its player, which is empty if the profile
// was deleted meanwhile.
type RankedProfile struct {
	Profile storage.ProfileID `json:"profile"`
	Nick    string            `json:"nick"`
	Value   float64           `json:"value"`
	Rank    int               `json:"rank"`
	Updated time.Time         `json:"updated"`
}

// GameReport is a reported game without its keys.
type GameReport struct {
	ID      uint64         `json:"id"`
	Server  netip.AddrPort `json:"server,omitzero"`
	Started time.Time      `json:"started"`
	Updated time.Time      `json:"updated"`
	Done    bool           `json:"done"`
	Trusted bool           `json:"trusted"`
	Players int            `json:"players"` // that the last report names
	Proved  int            `json:"proved"`  // of them with a proof, who alone count on boards
	Bytes   int            `json:"bytes"`   // of the keys and values
}

// PlayersText returns the players in words, such as "2 of 8 proved".
func (r GameReport) PlayersText() string {
	if r.Players == 0 {
		return "0"
	}
	return fmt.Sprintf("%d of %d proved", r.Proved, r.Players)
}

// PlayerStats is the stored data of a profile.
type PlayerStats struct {
	Profile storage.ProfileID `json:"profile"`
	Nick    string            `json:"nick"`
	Blocks  []StatBlockInfo   `json:"blocks"`
	Scores  []storage.Score   `json:"scores"` // with ranks
}

// StatBlockInfo is a block without its data.
type StatBlockInfo struct {
	storage.StatBlockID

	Bytes    int       `json:"bytes"`
	Text     string    `json:"text,omitzero"` // the beginning of a block that is text
	Modified time.Time `json:"modified"`
}

// NewStatBlock is a block to be stored.
type NewStatBlock struct {
	Profile storage.ProfileID `json:"profile,omitzero" arg:"PROFILE" doc:"the number of a profile: 'respawnd account show EMAIL' prints those of an account"`
	Game    string            `json:"game" arg:"GAME"`
	Kind    storage.StatKind  `json:"kind" arg:"KIND" upto:"3" doc:"a kind: 0 or 1 are private, 2 or 3 public"`
	Index   int32             `json:"index" arg:"INDEX" upto:"2147483647" doc:"an index: a number from 0 to 2147483647"`
	Data    []byte            `json:"data" lookup:"[TEXT]"`
}

// StatsSelection selects blocks and scores of a profile: everything without Game, those
// of a game, or only the block of a kind and index, which belong together.
type StatsSelection struct {
	Profile storage.ProfileID `path:"id" arg:"PROFILE" doc:"the number of a profile: 'respawnd account show EMAIL' prints those of an account"`
	Game    string            `query:"game" arg:"[GAME"`
	Kind    *storage.StatKind `query:"kind" arg:"[KIND" upto:"3" doc:"a kind: 0 or 1 are private, 2 or 3 public"`
	Index   *int32            `query:"index" arg:"INDEX]]" upto:"2147483647" doc:"an index: a number from 0 to 2147483647"`
}

// BlockRef names a block of a profile.
type BlockRef struct {
	Profile storage.ProfileID `query:"profile" arg:"PROFILE" doc:"the number of a profile: 'respawnd account show EMAIL' prints those of an account"`
	Game    string            `query:"game" arg:"[GAME"`
	Kind    *storage.StatKind `query:"kind" arg:"KIND" upto:"3" doc:"a kind: 0 or 1 are private, 2 or 3 public"`
	Index   *int32            `query:"index" arg:"INDEX]" upto:"2147483647" doc:"an index: a number from 0 to 2147483647"`
}

func (q StatsSelection) id() (id storage.StatBlockID, err error) {
	switch {
	case q.Kind == nil || q.Index == nil:
		err = fmt.Errorf("%w: kind and index are numbers that belong together", ErrBadRequest)
	case *q.Kind > storage.StatPublicWrite:
		err = fmt.Errorf("%w: kind is not a number from 0 to %d", ErrBadRequest, storage.StatPublicWrite)
	default:
		id = storage.StatBlockID{Game: storage.Fold(q.Game), Profile: q.Profile, Kind: *q.Kind, Index: *q.Index}
	}
	return id, err
}

// StoredStats is the stored data of a profile, as it is exported and imported. The
// profiles in its blocks and scores are left out.
type StoredStats struct {
	Profile storage.ProfileID   `json:"profile"`
	Nick    string              `json:"nick,omitzero"` // for readers; ignored by an import
	Blocks  []storage.StatBlock `json:"blocks,omitempty"`
	Scores  []storage.Score     `json:"scores,omitempty"`
}

// ImportedStats is the result of importing the statistics of one profile.
type ImportedStats struct {
	Profile storage.ProfileID `json:"profile"`
	Error   string            `json:"error,omitzero"` // "": they are stored
}

// GetGameStats returns the boards and the last reports of a game.
var GetGameStats = New(Operation{
	Name: "stats game", Route: "GET /games/{name}/stats", What: "Show the boards and the last reported games of a game", About: noun.Stats,
}, func(ctx context.Context, l *Local, q GameStatsQuery) (GameStats, error) {
	g, ok := l.Catalogue.Catalog().Lookup(q.Game)
	if !ok {
		return GameStats{}, fmt.Errorf("%w: unknown game %q", ErrBadRequest, q.Game)
	}
	out := GameStats{Game: g.Name, Boards: []Board{}, Reports: []GameReport{}} // never null as JSON
	base, _ := l.Catalogue.Catalog().Base(g.Name)
	for _, b := range base.Boards {
		scores, err := l.Store.Ranking(ctx, g.Name, b.Name, 0, topScores)
		if err != nil {
			return GameStats{}, fmt.Errorf("board %s: %w", b.Name, err)
		}
		out.Boards = append(out.Boards, Board{b.Name, b.Title, ranked(ctx, l, scores)})
	}
	if q.Reports <= 0 {
		q.Reports = 10
	}
	for r, err := range l.Store.Reports(ctx, g.Name, 0) {
		if errors.Is(err, storage.ErrDamaged) {
			continue
		}
		if err != nil {
			return GameStats{}, err
		}
		proved := len(r.Profiles)
		players := max(stats.Named(r.Pairs), proved)
		out.Reports = append(out.Reports, GameReport{r.ID, r.Server, r.Started, r.Updated, r.Done, r.Trusted, players, proved, len(r.Pairs)})
		if len(out.Reports) >= min(q.Reports, MaxGameReports) {
			break
		}
	}
	return out, nil
})

func ranked(ctx context.Context, l *Local, scores []storage.Score) []RankedProfile {
	out := make([]RankedProfile, 0, len(scores))
	for _, s := range scores {
		p, _ := l.Store.GetProfile(ctx, s.Profile) // without nick if it was deleted meanwhile
		out = append(out, RankedProfile{s.Profile, clean.UTF8(p.Nick), s.Value, s.Rank, s.Updated})
	}
	return out
}

// GetPlayerStats returns the stored data of a profile. storage.ErrNotFound: there is no such
// profile.
var GetPlayerStats = New(Operation{
	Name: "stats player", Route: "GET /players/{id}/stats", What: "Show the data and scores of a player", About: noun.Stats,
}, func(ctx context.Context, l *Local, in ProfileRef) (PlayerStats, error) {
	id := in.ID
	p, err := l.Store.GetProfile(ctx, id)
	if err != nil {
		return PlayerStats{}, profileError(id, err)
	}
	out := PlayerStats{Profile: id, Nick: clean.UTF8(p.Nick), Blocks: []StatBlockInfo{}, Scores: []storage.Score{}}
	for b, err := range l.Store.StatBlocks(ctx, id) {
		if err != nil {
			return PlayerStats{}, profileError(id, err)
		}
		text, _ := stats.Text(b.Data)
		out.Blocks = append(out.Blocks, StatBlockInfo{b.StatBlockID, len(b.Data), clean.Shorten(text, statPreview), b.Modified})
	}
	for s, err := range l.Store.ScoresOf(ctx, id) {
		if err == nil {
			s, err = l.Store.RankOf(ctx, s.ScoreID)
		}
		if errors.Is(err, storage.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return PlayerStats{}, profileError(id, err)
		}
		out.Scores = append(out.Scores, s)
	}
	return out, nil
})

func profileError(id storage.ProfileID, err error) error {
	return subject(err, "profile %d", id)
}

// GetStatBlock returns a block with its data, or storage.ErrNotFound.
var GetStatBlock = New(Operation{
	Name: "stats block", Route: "GET /stats/block", What: "Show a block with its data", About: noun.Stats,
}, func(ctx context.Context, l *Local, in BlockRef) (storage.StatBlock, error) {
	id, err := StatsSelection(in).id()
	if err != nil {
		return storage.StatBlock{}, err
	}
	b, err := l.Store.GetStatBlock(ctx, id)
	return b, blockError(id, err)
})

func blockError(id storage.StatBlockID, err error) error {
	return subject(err, "profile %d: %s", id.Profile, blockText(id))
}

// blockText returns a block as the audit log has it.
func blockText(id storage.StatBlockID) string {
	return fmt.Sprintf("%s, kind %d, index %d", id.Game, id.Kind, id.Index)
}
