package theater

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// testGame is the game of most tests.
const testGame = "mercs2-pc"

// fixture is a service without sockets, and a clock that tests move.
type fixture struct {
	testing.TB
	*Server
	now      time.Time
	attached int
}

func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{{Name: "mercs2"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{TB: t, now: time.Unix(1700000000, 0)}
	opt := Options{Lobby: new(lobby.Lobby), Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalog}}
	opt.Attach = func(presence.Attached) func() {
		f.attached++
		return func() { f.attached-- }
	}
	configs.Defaults(&opt.Config)
	if change != nil {
		change(&opt)
	}
	f.Server = New(opt)
	return f
}

// client is a connection without a socket.
type client struct {
	*fixture
	x      *session
	out    bytes.Buffer
	kicked error
	number int
}

// connect returns a client that has said nothing yet.
func (f *fixture) connect(address string) *client {
	c := &client{fixture: f}
	c.x = &session{
		server: f.Server, peer: netip.MustParseAddrPort(address), local: netip.MustParseAddrPort("192.0.2.200:18715"), heard: f.now,
		queue: func(b []byte) { c.out.Write(b) }, kick: func(err error) { c.kicked = err },
	}
	return c
}

// player returns a client that has signed in as a profile, at an address whose last byte is the number
// of the profile.
func (f *fixture) player(id int, game string) *client {
	f.Helper()
	n := strconv.Itoa(id)
	c := f.connect("192.0.2." + n + ":40000")
	listed := ""
	if game == testGame {
		listed = "mercs2"
	}
	f.opt.Lobby.Enter("key"+n, lobby.Player{Profile: storage.ProfileID(id), User: 1, Name: "Player" + n, Client: game, Game: listed})
	c.wants([]string{"CONN TID=1 TIME=1700000000 activityTimeoutSecs=0 PROT=2"}, "CONN", "PROT", "2")
	c.wants([]string{"USER TID=2 NAME=Player" + n}, "USER", "LKEY", "key"+n)
	return c
}

// host returns a player who offers a game and is in it.
func (f *fixture) host(id int, values ...string) *client {
	f.Helper()
	c := f.player(id, testGame)
	c.ask("CGAM", append(values, "LID", "-1", "NAME", "A game", "PORT", "3000", "INT-IP", "10.0.0.1", "INT-PORT", "3001", "MAX-PLAYERS", "2")...)
	game := strconv.Itoa(c.x.hosts.id)
	c.ask("EGAM", "GID", game, "PORT", "3000")
	c.ask("EGRS", "GID", game, "PID", "1", "ALLOWED", "1")
	c.wants([]string{"PENT TID=6 PID=1"}, "PENT", "GID", game, "PID", "1")
	return c
}

// say sends a message, keys and values in turn, with the next number.
func (c *client) say(word string, pairs ...string) error {
	c.number++
	text := append(lines(pairs...), lines("TID", strconv.Itoa(c.number))...)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.x.handle(wire.Frame{Header: wire.Header{Service: word, Kind: wire.TheaterRequest}, Payload: text.Append(nil, wire.ClientEnd)}, c.now)
}

// ask is say for a message that ends no connection. It returns what the client has heard since.
func (c *client) ask(word string, pairs ...string) []string {
	c.Helper()
	if err := c.say(word, pairs...); err != nil {
		c.Fatalf("%s %v: %v", word, pairs, err)
	}
	return c.hears()
}

// wants asks and compares.
func (c *client) wants(want []string, word string, pairs ...string) {
	c.Helper()
	if got := c.ask(word, pairs...); !slices.Equal(got, want) {
		c.Errorf("%s %v is answered with\n%s\nwant\n%s", word, pairs, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// random are the keys whose values differ each time.
var random = []string{"EKEY", "SECRET", "TICKET", "UGID"}

// hears returns the messages that have come, as words and lines. Random values are stars.
func (c *client) hears() (list []string) {
	c.Helper()
	r, in := bufio.NewReader(bytes.NewReader(c.out.Bytes())), wire.Inbox{}
	c.out.Reset()
	for {
		f, err := in.Next(r, maxFrame)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			c.Fatal(err)
		}
		t, err := wire.ParseText(f.Payload, wire.MaxLines)
		if err != nil {
			c.Fatal(err)
		}
		text := f.Service
		if why := f.Word(); why != "" {
			text += " " + why
		}
		for _, line := range t {
			if slices.Contains(random, line.Key) && line.Value != "" {
				line.Value = "*"
			}
			text += " " + line.Key + "=" + line.Value
		}
		list = append(list, text)
	}
}

// silent fails if the client has heard something.
func (c *client) silent() {
	c.Helper()
	if got := c.hears(); len(got) > 0 {
		c.Errorf("%s was sent %q", c.x.player.Name, got)
	}
}

// after moves the clock and does what is due.
func (f *fixture) after(d time.Duration) {
	f.now = f.now.Add(d)
	f.step(f.now)
}

// examples returns the frames of the description, by name.
func examples(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "examples.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for line := range strings.Lines(string(text)) {
		name, digits, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if all[name], err = hex.DecodeString(strings.Join(strings.Fields(digits), "")); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
