package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Catalogue fills a games.Catalog from its three layers: the embedded list, the
// operator's file and the operator's own records in the store. It also holds
// the group rooms of the store.
type Catalogue struct {
	Embedded games.Embedded
	Store    storage.Store
	// Hidden, if not nil, is called with the built-in rooms that are left out because
	// rooms of the operator have their ids, each time that changes.
	Hidden func([]games.HiddenRoom)
	// Shared, if not nil, is called with the games that share their lists after every
	// time the catalogue was read.
	Shared func(lists [][]string)

	mu      sync.Mutex // one reload at a time; guards file
	file    string
	catalog games.Catalog
	rooms   atomic.Pointer[map[string][]games.Room]
	hidden  []games.HiddenRoom // as passed to Hidden last
}

// Catalog returns the live catalogue.
func (c *Catalogue) Catalog() *games.Catalog { return &c.catalog }

// Rooms returns the group rooms that the operator added to a game. The slice is
// shared.
func (c *Catalogue) Rooms(game string) []games.Room {
	if m := c.rooms.Load(); m != nil {
		return (*m)[game]
	}
	return nil
}

// Room returns the group room with an id, of the catalogue or added by the operator,
// and the name of its game.
func (c *Catalogue) Room(id uint32) (room games.Room, game string, ok bool) {
	if r, g, ok := c.catalog.Room(id); ok {
		return r, g.Name, true
	}
	if m := c.rooms.Load(); m != nil {
		for game, list := range *m {
			if i := slices.IndexFunc(list, func(r games.Room) bool { return r.ID == id }); i >= 0 {
				return list[i], game, true
			}
		}
	}
	return games.Room{}, "", false
}

// Load reads all layers. file is the operator's file, "" for none; Reload reads
// the same one again. After an error everything is as it was.
func (c *Catalogue) Load(ctx context.Context, file string) error {
	return c.LoadIf(ctx, file, nil)
}

// LoadIf is Load with a last word for agree, if not nil: it is called once
// everything has been read and checked, and its error leaves everything as it
// was. It must not use the catalogue's methods that read or change the store.
func (c *Catalogue) LoadIf(ctx context.Context, file string, agree func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(ctx, file, agree); err != nil {
		return err
	}
	c.file = file
	return nil
}

// Reload reads all layers again. After an error everything is as it was.
func (c *Catalogue) Reload(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(ctx, c.file, nil)
}

// read fills the catalogue, unless agree is there and disagrees. c.mu is held.
func (c *Catalogue) read(ctx context.Context, path string, agree func() error) error {
	layers, err := c.layers(path)
	if err != nil {
		return err
	}
	stored, err := c.stored(ctx)
	if err != nil {
		return err
	}
	rooms, err := c.storedRooms(ctx)
	if err != nil {
		return err
	}
	layers = append(layers, stored)
	var next games.Catalog
	if err := next.ReplaceBeside(byID(rooms), layers...); err != nil {
		return err
	}
	if err := checkRooms(rooms, &next); err != nil {
		return err
	}
	if agree != nil {
		if err := agree(); err != nil {
			return err
		}
	}
	c.catalog.Take(&next)
	c.rooms.Store(&rooms)
	if c.Shared != nil {
		c.Shared(c.catalog.SharedLists())
	}
	if now := c.catalog.HiddenRooms(); c.Hidden != nil && !slices.EqualFunc(now, c.hidden, sameHidden) {
		c.hidden = now
		c.Hidden(now)
	}
	return nil
}

func sameHidden(a, b games.HiddenRoom) bool { return a.Room.ID == b.Room.ID && a.Other == b.Other }

func byID(rooms map[string][]games.Room) map[uint32]string {
	all := make(map[uint32]string)
	for game, list := range rooms {
		for _, r := range list {
			all[r.ID] = game
		}
	}
	return all
}

// layers returns the built-in games and those of the operator's file.
func (c *Catalogue) layers(path string) ([][]games.Game, error) {
	layers, err := c.Embedded.Layers()
	if err != nil {
		return nil, err
	}
	file, err := readGamesFile(path)
	if err != nil {
		return nil, err
	}
	return append(layers, file), nil
}

// checkRooms refuses a catalogue that has a number of a room in the store. The
// store gives out numbers that are free when it does; a file may take one later.
func checkRooms(rooms map[string][]games.Room, catalog *games.Catalog) error {
	for game, list := range rooms {
		for _, r := range list {
			if other, of, taken := catalog.Room(r.ID); taken {
				return fmt.Errorf("room %d is %q of %s in the list of games and %q of %s in the store: give one of them another number",
					r.ID, other.Name, of.Name, r.Name, game)
			}
		}
	}
	return nil
}

// ReadGames returns the built-in games with those of the operator's file at path,
// "" for none, without a store.
func ReadGames(path string) (*games.Catalog, error) {
	layers, err := (&Catalogue{Embedded: BuiltIn()}).layers(path)
	if err != nil {
		return nil, err
	}
	return games.NewCatalog(layers...)
}

func readGamesFile(path string) ([]games.Game, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("games.file: %w", err)
	}
	defer func() { _ = f.Close() }()
	list, err := games.ParseYAML(f, games.Source{Origin: games.FromFile, File: path})
	if err != nil {
		return nil, fmt.Errorf("games.file: %w", err)
	}
	return list, nil
}

func (c *Catalogue) stored(ctx context.Context) ([]games.Game, error) {
	var out []games.Game
	for g, err := range c.Store.Games(ctx) {
		if err != nil {
			return nil, fmt.Errorf("games in the store: %w", err)
		}
		list, err := games.ParseYAML(bytes.NewReader(g.Doc), games.Source{Origin: games.FromStore})
		if err != nil {
			return nil, fmt.Errorf("game %s in the store: %w", g.Name, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

func (c *Catalogue) storedRooms(ctx context.Context) (map[string][]games.Room, error) {
	out := make(map[string][]games.Room)
	for r, err := range c.Store.Rooms(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("rooms in the store: %w", err)
		}
		room := games.Room{ID: r.ID, Name: r.Name, MaxWaiting: r.MaxWaiting}
		for _, f := range r.Fields {
			room.Fields = append(room.Fields, games.Field{Key: f.Name, Value: f.Value})
		}
		out[r.Game] = append(out[r.Game], room)
	}
	return out, nil
}

// put stores the operator's own records in place of earlier ones.
func (c *Catalogue) put(ctx context.Context, list []games.Game, detail string) error {
	now := time.Now()
	records := make([]storage.Game, len(list))
	for i, g := range list {
		records[i] = storage.Game{Name: g.Name, Doc: games.AppendYAML(nil, []games.Game{g}), Changed: now}
		if err := records[i].Check(); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(records, storage.MaxGamesAtOnce) {
		names := make([]string, len(part))
		for i := range part {
			names[i] = part[i].Name
		}
		if err := c.Store.SetGames(about(ctx, strings.Join(names, " "), detail), part); err != nil {
			return err
		}
	}
	return nil
}

// try reports whether the catalogue would accept more records of the operator.
func (c *Catalogue) try(ctx context.Context, list []games.Game) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	layers, err := c.layers(c.file)
	if err != nil {
		return err
	}
	stored, err := c.stored(ctx)
	if err != nil {
		return err
	}
	replaced := make(map[string]bool, len(list))
	for _, g := range list {
		replaced[g.Name] = true
	}
	top := append([]games.Game(nil), list...)
	for _, g := range stored {
		if !replaced[g.Name] {
			top = append(top, g)
		}
	}
	_, err = games.NewCatalog(append(layers, top)...)
	if invalid := (*games.InvalidError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if err != nil {
		return err
	}
	return c.tryRooms(ctx, list)
}

// tryRooms refuses records with the number of a room that was added to a game.
func (c *Catalogue) tryRooms(ctx context.Context, list []games.Game) error {
	added := make(map[uint32]string)
	for r, err := range c.Store.Rooms(ctx, "") {
		if err != nil {
			return fmt.Errorf("rooms in the store: %w", err)
		}
		added[r.ID] = r.Game
	}
	for _, g := range list {
		for _, r := range g.Rooms {
			if game, taken := added[r.ID]; taken {
				return fmt.Errorf("%w: %s: room %d was added to %s", ErrBadRequest, g.Name, r.ID, game)
			}
		}
	}
	return nil
}

// BuiltIn returns the games that are part of the program.
func BuiltIn() games.Embedded {
	return games.Embedded{Games: configs.GameTable, Rooms: configs.RoomTable, Facts: configs.Games, Editions: configs.EditionTable}
}
