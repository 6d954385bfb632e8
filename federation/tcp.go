package federation

import (
	"context"
	"fmt"
	"net"

	"github.com/respawnd/respawnd/configs"
)

func (d *dialer) connect(ctx context.Context, m *configs.OtherMaster, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	a, err := d.resolve(ctx, m, host, port, "tcp")
	if err != nil {
		return nil, err
	}
	n := net.Dialer{Timeout: dialTimeout}
	conn, err := n.DialContext(ctx, "tcp4", a.String())
	if err != nil {
		return nil, fmt.Errorf("not connected: %w", err)
	}
	return conn, nil
}
