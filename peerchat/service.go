package peerchat

import (
	"bufio"
	"context"
	"net/netip"
	"os"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the message of the day.
const (
	maxMotdLines = 64
	maxMotdLine  = 400 // bytes
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Chat and game lobbies", Nouns: []noun.Noun{noun.Accounts, noun.Chat, noun.Rooms}, Docs: []string{"protocols/peerchat", "operators/chat", "protocols/generals"},
		Plays:    []service.Play{{Service: "peerchat", Network: "TCP", Order: service.PlayMeets, Means: "the lobby does not open", Run: play}},
		Dialogue: dialogue.Protocol{Split: dialogue.Lines, Blot: blot, Shape: commandOf, Secret: proves, Skip: enciphers},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderPlayers, Run: meet}},
		Check: func(string, service.Moment) error {
			_, err := readMotd(c.MotdFile)
			return err
		},
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	motd, err := readMotd(c.MotdFile)
	if err != nil {
		return nil, err
	}
	outside := env.Addresses.Outside
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players), Catalogue: env.Catalogue, Talk: env.Talk,
		Accounts: env.Accounts, Games: env.Games, Motd: motd, Attach: env.Hub.Attach, Cluster: env.Cluster,
		Given: func(a netip.Addr) netip.Addr {
			return outside().Given(netip.AddrPortFrom(a, 1)).Addr()
		},
	})
	r, err := service.OpenConns(ctx, c.Listen, s)
	if err != nil {
		return nil, err
	}
	r.Chat = s
	return r, nil
}

// readMotd returns the lines of the message of the day, none if there is no file.
func readMotd(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var lines []string
	text := bufio.NewScanner(f)
	for text.Scan() && len(lines) < maxMotdLines {
		lines = append(lines, cut(text.Text(), maxMotdLine))
	}
	return lines, text.Err()
}
