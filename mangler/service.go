package mangler

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var _ = verdicts.Speak("mangler", verdicts.Speaker{What: "question about a port", Player: true})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "NAT helper of Generals and Zero Hour", Docs: []string{"protocols/mangler"},
		Dialogue: dialogue.Public(nil),
		Steps:    []service.Step{{Name: "mangler port", Needs: []string{"mangler"}, Order: service.OrderAlone, Run: check}},
		Plays:    []service.Play{{Service: "mangler", Network: "UDP", Order: service.PlayMeets, Family: true, Means: "matches between players behind some routers do not start", Run: play}},
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	return service.OnSocket(conn, New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
	})), nil
}
