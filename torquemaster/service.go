package torquemaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Torque server lists", Docs: []string{"protocols/torquemaster"}, Shows: true, Origins: []*master.Origin{Origin}, Dialogue: dialogue.Public(dialogue.Leading(2)),
		Plays:   []service.Play{{Service: name, Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
		Steps:   []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Connect: "Games of the Torque engine: `$pref::Master0 = \"2:{address}:{port}\";` in the preferences of servers and players.",
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conns, err := netserve.Ports{Network: "udp4", Address: c.Listen}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	s := newServer(options{*c, env.Registers(storage.ScopeLists, uplink.DropNames()...)})
	return service.OnSockets(conns, s, func(to service.Service) { s.Reload(to.(*Config)) }), nil
}
