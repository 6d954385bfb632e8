package federation

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netclient"
)

// udp opens a socket that receives only from the master.
func (d *dialer) udp(ctx context.Context, m *configs.OtherMaster) (*netclient.Packets, error) {
	host, port, err := net.SplitHostPort(m.Address)
	if err != nil {
		return nil, err
	}
	a, err := d.resolve(ctx, m, host, port, "udp")
	if err != nil {
		return nil, err
	}
	return netclient.Dial(ctx, a.String())
}
