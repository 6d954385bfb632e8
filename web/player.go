package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// Bounds of the page of a player, and of the boards on the page of a game.
const (
	maxPlayerScores = 200
	maxPlayerBlocks = 100
	maxBlockPairs   = 100
	boardRows       = 10
	maxPlayingNow   = 4
)

// playerPage is the data of a player's template.
type playerPage struct {
	page.Frame
	Names []string // unique nicks other than the title
	Games []playerGame
	More  bool // not everything is shown
	Now   []onlineView
}

// playerGame is the data that a game keeps for a player.
type playerGame struct {
	name        string
	Title, Link string // Link is empty for a game that is not in the catalogue
	Scores      []playerScore
	Blocks      []playerBlock
}

// playerScore is a score of a player.
type playerScore struct {
	Board, Value, Date string
	Rank               int
}

// playerBlock is a block that everyone may read. Of Pairs and Text at most one is set.
type playerBlock struct {
	Index int32
	Date  string
	Pairs []ruleView
	Text  string
	Bytes int
}

// servePlayer answers /players/{id}.
func (s *Server) servePlayer(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 31)
	if err != nil || id == 0 || s.opt.Stats == nil {
		s.noSuchPlayer(w, r)
		return
	}
	v, err := s.playerPage(r.Context(), s.site.Language(w, r), storage.ProfileID(id))
	if err == nil {
		v.Now = s.playingNow(storage.ProfileID(id), s.api.Asker(r))
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		s.noSuchPlayer(w, r)
	case err != nil:
		s.Log().Error().Err(err).Uint64("profile", id).Msg("page of a player not made")
		s.Fail(w, r, http.StatusInternalServerError, "this player cannot be shown now")
	default:
		s.show(w, r, "player", v)
	}
}

func (s *Server) noSuchPlayer(w http.ResponseWriter, r *http.Request) {
	s.Fail(w, r, http.StatusNotFound, "there is no page of this player")
}

// private reports whether strangers must not learn which accounts exist.
func (s *Server) private() bool { return s.opt.Accounts.Private != nil && s.opt.Accounts.Private() }

// playerPage returns the page of a player, or storage.ErrNotFound. While strangers must
// not learn which accounts exist, only players with scores or public data have one.
func (s *Server) playerPage(ctx context.Context, l *lang.Language, id storage.ProfileID) (playerPage, error) {
	p, err := s.opt.Stats.GetProfile(ctx, id)
	if err != nil {
		return playerPage{}, err
	}
	v := playerPage{Frame: s.site.Frame(l, clean.Line(p.Nick, maxNameText), page.Games)}
	for _, n := range p.UniqueNicks {
		if name := clean.Line(n.Nick, maxNameText); name != v.Title && !slices.Contains(v.Names, name) {
			v.Names = append(v.Names, name)
		}
	}
	if err := s.addScores(ctx, &v, id); err != nil {
		return playerPage{}, err
	}
	if err := s.addBlocks(ctx, &v, id); err != nil {
		return playerPage{}, err
	}
	if len(v.Games) == 0 && s.private() {
		return playerPage{}, storage.ErrNotFound
	}
	slices.SortStableFunc(v.Games, func(a, b playerGame) int { return compareTexts(a.Title, b.Title) })
	return v, nil
}

// playingNow returns where a profile plays, as the servers know that check who their players are.
func (s *Server) playingNow(id storage.ProfileID, asker advertise.Asker) (now []onlineView) {
	want := strconv.FormatUint(uint64(id), 10)
	for _, row := range s.api.Snapshot().Choose("", "", api.ByPlayers) {
		if !row.Origin.Profiles {
			continue
		}
		column, numbered := row.Players.Names().Index("pid_")
		for i := 0; numbered && i < row.PlayerCount() && len(now) < maxPlayingNow; i++ {
			if row.Players.Value(i, column) == want {
				now = append(now, s.onlineView(seat{row, i}, asker))
			}
		}
	}
	return now
}

// gameOf returns the part of a page for a game.
func (s *Server) gameOf(v *playerPage, name string) *playerGame {
	i := slices.IndexFunc(v.Games, func(g playerGame) bool { return g.name == name })
	if i < 0 {
		g := playerGame{name: name, Title: clean.Line(name, maxGameText)}
		if _, known := s.opt.Games.Lookup(name); known {
			g.Title, g.Link = clean.Line(s.api.Title(name), maxGameText), s.gameURL(name)
		}
		i = len(v.Games)
		v.Games = append(v.Games, g)
	}
	return &v.Games[i]
}

// addScores adds the scores of a player on boards that the games have now.
func (s *Server) addScores(ctx context.Context, v *playerPage, id storage.ProfileID) error {
	shown := 0
	for score, err := range s.opt.Stats.ScoresOf(ctx, id) {
		if err != nil {
			return err
		}
		title, ok := s.boardTitle(score.Game, score.Board)
		if !ok {
			continue
		}
		if shown++; shown > maxPlayerScores {
			v.More = true
			return nil
		}
		ranked, err := s.opt.Stats.RankOf(ctx, score.ScoreID)
		if errors.Is(err, storage.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		g := s.gameOf(v, score.Game)
		g.Scores = append(g.Scores, playerScore{Board: title, Value: v.Lang.Decimal(ranked.Value), Date: dateText(v.Lang, ranked.Updated), Rank: ranked.Rank})
	}
	return nil
}

// boardTitle returns the title of a board. ok is false if the game does not have it.
func (s *Server) boardTitle(game, board string) (title string, ok bool) {
	for _, b := range s.api.Boards(games.Game{Name: game}) {
		if b.Name == board {
			return clean.Line(b.Title, maxGameText), true
		}
	}
	return "", false
}

// addBlocks adds the blocks of a player that everyone may read.
func (s *Server) addBlocks(ctx context.Context, v *playerPage, id storage.ProfileID) error {
	shown := 0
	for b, err := range s.opt.Stats.StatBlocks(ctx, id) {
		if err != nil {
			return err
		}
		if b.Kind.Private() {
			continue
		}
		if shown++; shown > maxPlayerBlocks {
			v.More = true
			return nil
		}
		g := s.gameOf(v, b.Game)
		g.Blocks = append(g.Blocks, showBlock(v.Lang, &b))
	}
	return nil
}

// showBlock returns a block for the page: keys and values, text, or only its size.
func showBlock(l *lang.Language, b *storage.StatBlock) playerBlock {
	v := playerBlock{Index: b.Index, Date: dateText(l, b.Modified), Bytes: len(b.Data)}
	if pairs, ok := stats.TextPairs(b.Data); ok {
		for _, p := range pairs[:min(len(pairs), maxBlockPairs)] {
			if p == (stats.Pair{}) { // behind a backslash at the end
				continue
			}
			v.Pairs = append(v.Pairs, ruleView{clean.Line(p.Key, maxFieldText), clean.Line(p.Value, maxValueText)})
		}
		return v
	}
	if text, ok := stats.Text(b.Data); ok {
		v.Text = clean.Line(text, maxValueText)
	}
	return v
}

func dateText(l *lang.Language, t time.Time) string { return l.Time(t.UTC(), "2 January 2006") }

// boardView is a board on the page of a game.
type boardView struct {
	Title, JSON string
	Rows        []boardRow
}

// boardRow is a line of a board.
type boardRow struct {
	Rank              int
	Nick, Link, Value string
}

// boards returns the boards of a game that have scores, with the first of them.
func (s *Server) boards(ctx context.Context, l *lang.Language, g games.Game) (out []boardView) {
	for _, b := range s.api.Boards(g) {
		ranks, _, err := s.api.Ranking(ctx, g.Name, b.Name, 0, boardRows)
		if err != nil {
			s.Log().Error().Err(err).Str("game", g.Name).Msg("ranking not read")
			return out
		}
		if len(ranks) > 0 {
			out = append(out, s.boardView(l, g, b, ranks))
		}
	}
	return out
}

func (s *Server) boardView(l *lang.Language, g games.Game, b api.BoardName, ranks []api.PlayerRank) boardView {
	v := boardView{Title: clean.Line(b.Title, maxGameText), JSON: s.site.Base() + "/api/v1/games/" + g.Name + "/ranking?board=" + b.Name}
	for _, r := range ranks {
		v.Rows = append(v.Rows, boardRow{
			Rank: r.Rank, Nick: clean.Line(r.Nick, maxNameText), Value: l.Decimal(r.Value),
			Link: s.site.Base() + "/players/" + strconv.FormatUint(uint64(r.Profile), 10),
		})
	}
	return v
}
