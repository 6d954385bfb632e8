package cdkey

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "CD key checks", Nouns: []noun.Noun{noun.Keys}, Docs: []string{"protocols/cdkey"},
		Dialogue: dialogueOf(),
		Steps:    []service.Step{{Name: "cdkey check", Needs: []string{"cdkey"}, Order: service.OrderAlone, Run: check}},
		Check: func(string, service.Moment) error {
			_, err := productModes(c.Products)
			return err
		},
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Keys: env.Keys, Cluster: env.Cluster,
	})
	return service.OnSocket(conn, s), nil
}

// maxProducts bounds Config.Products.
const maxProducts = 256

// productModes reads Config.Products: whether a product is strict.
func productModes(list []string) (map[int]bool, error) {
	if len(list) > maxProducts {
		return nil, fmt.Errorf("cdkey.products: more than %d entries", maxProducts)
	}
	modes := make(map[int]bool, len(list))
	for _, entry := range list {
		number, mode, _ := strings.Cut(entry, "=")
		product, err := strconv.Atoi(number)
		if err != nil || product < 0 || mode != Strict && mode != Permissive {
			return nil, fmt.Errorf("cdkey.products: %.40q is not like 461=%s or 461=%s", entry, Strict, Permissive)
		}
		modes[product] = mode == Strict
	}
	return modes, nil
}
