package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// PatchList are the patches in force, and the versions of games that asked since the start
// of the daemon.
type PatchList struct {
	Patches  []news.Patch `json:"patches"`
	Versions []news.Count `json:"versions"`
}

// ListMotds returns the messages of the day that were set.
var ListMotds = New(Operation{
	Name: "motd show", Route: "GET /motd", What: "Show the message of the day of a game, or all that were set", About: noun.News,
}, func(_ context.Context, l *Local, _ None) ([]storage.Motd, error) {
	return append([]storage.Motd{}, l.News.Motds()...), nil // never null as JSON
})

// NewMotd is a message of the day to be set: a storage.Motd.
type NewMotd struct {
	Game string    `json:"game" arg:"GAME"`
	Text string    `json:"text" arg:"TEXT"`
	By   string    `json:"by,omitzero" default:"cli"`
	Set  time.Time `json:"set,omitzero"` // is ignored
}

// SetMotd sets the message of the day of a game at once. ErrBadRequest: the game is not in the
// catalogue.
var SetMotd = New(Operation{
	Name: "motd set", Route: "PUT /motd", What: "Set the message of the day of a game; takes effect at once", About: noun.News,
}, func(ctx context.Context, l *Local, in NewMotd) (Done, error) {
	m := storage.Motd(in)
	g, known := l.Catalogue.Catalog().Lookup(m.Game)
	if !known {
		return Done{}, fmt.Errorf("%w: there is no game %q: `respawnd game list` shows all", ErrBadRequest, m.Game)
	}
	m.Game, m.Set = g.Name, time.Now()
	return Done{1}, l.News.PutMotd(about(ctx, m.Game, m.Text), m)
})

// MotdRef names the message of the day of a game.
type MotdRef struct {
	Game string `query:"game" arg:"GAME"`
}

// ClearMotd removes the message of a game. storage.ErrNotFound: there is none.
var ClearMotd = New(Operation{
	Name: "motd clear", Route: "DELETE /motd", What: "Remove the message of the day of a game", About: noun.News,
}, func(ctx context.Context, l *Local, in MotdRef) (Removed, error) {
	game := storage.Fold(in.Game)
	return Removed{1}, subject(l.News.RemoveMotd(about(ctx, game, ""), game), "message of the day of %q", game)
})

// ListPatches returns the patches and the versions that asked for them.
var ListPatches = New(Operation{
	Name: "patch list", Route: "GET /patches", What: "Show the patches, and the versions of games that asked", About: noun.News,
}, func(_ context.Context, l *Local, _ None) (PatchList, error) {
	return PatchList{append([]news.Patch{}, l.News.Patches()...), l.News.Seen()}, nil
})

// NewPatch is a patch to be announced.
type NewPatch struct {
	Product int       `json:"product" flag:"product" default:"-1" doc:"number of the product, as the outdated game sends it"`
	Version string    `json:"version" flag:"version" doc:"version of the outdated game, as it sends it"`
	Name    string    `json:"name" arg:"NAME"`
	File    int       `json:"file,omitzero" flag:"file" doc:"number of the file, for games that ask for a list of mirrors"`
	URL     string    `json:"url,omitzero" flag:"url" doc:"address of the download"`
	Lockout bool      `json:"lockout,omitzero" flag:"lockout" doc:"the game must not be played online without it"`
	By      string    `json:"by,omitzero" default:"cli"`
	Added   time.Time `json:"added,omitzero"` // is ignored
}

// AddPatch announces a patch at once, in place of one for the same version.
var AddPatch = New(Operation{
	Name: "patch add", Route: "PUT /patches", What: "Announce a newer version by its name; takes effect at once", About: noun.News,
}, func(ctx context.Context, l *Local, in NewPatch) (Done, error) {
	p := storage.Patch{
		PatchID: storage.PatchID{Product: in.Product, Version: in.Version}, Name: in.Name, File: in.File, URL: in.URL, Lockout: in.Lockout, By: in.By, Added: time.Now(),
	}
	return Done{1}, l.News.PutPatch(about(ctx, patchText(p.PatchID), p.Name+" "+p.URL), p)
})

// PatchRef names a patch: a storage.PatchID.
type PatchRef struct {
	Product int    `query:"product" flag:"product" default:"-1" doc:"number of the product, as the outdated game sends it"`
	Version string `query:"version" flag:"version" doc:"version of the outdated game, as it sends it"`
}

// RemovePatch withdraws a patch. storage.ErrNotFound: there is none.
var RemovePatch = New(Operation{
	Name: "patch remove", Route: "DELETE /patches", What: "Withdraw a patch", About: noun.News,
}, func(ctx context.Context, l *Local, in PatchRef) (Removed, error) {
	id := storage.PatchID(in)
	err := l.News.RemovePatch(about(ctx, patchText(id), ""), id)
	if errors.Is(err, news.ErrConfigured) {
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return Removed{1}, subject(err, "patch for %s", patchText(id))
})

// patchText returns the version that a patch is for, as the audit log has it.
func patchText(id storage.PatchID) string {
	return "product " + strconv.Itoa(id.Product) + ", version " + id.Version
}
