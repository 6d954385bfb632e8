package federation

import (
	"context"
	"net"
	"net/netip"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/service"
)

// fetcher reads a master in its protocol.
type fetcher interface {
	// read tells s every entry of the list, at most about max. It may tell some and
	// then return an error.
	read(ctx context.Context, s *source, max int) (result string, err error)
	// note reads what each node of a cluster knows for itself, whichever of them reads the list.
	note(ctx context.Context, s *source)
	// follow tells s of changes until ctx ends, if the protocol has them, or returns.
	follow(ctx context.Context, s *source)
	// close ends follow and read.
	close()
}

// once is a fetcher of a protocol without changes.
type once func(ctx context.Context, s *source, max int) error

func (f once) read(ctx context.Context, s *source, max int) (string, error) {
	return resultRead, f(ctx, s, max)
}
func (once) note(context.Context, *source)   {}
func (once) follow(context.Context, *source) {}
func (once) close()                          {}

// The masters that this package reads by itself.
var (
	peerForm  = configs.MasterForm{Protocol: "respawnd", Options: []string{"game=GAME", "verified=true"}}
	textForm  = configs.MasterForm{Protocol: "textlist", Page: true, Needs: []string{"query=NAME"}, Options: []string{"game=GAME", "offset=0"}}
	pagesForm = configs.MasterForm{
		Protocol: "333json", Needs: []string{"game=GAME"}, Options: []string{"query=gs1", "offset=1"}, Usual: configs.OtherMaster{Offset: 1},
	}
	jsonForm = configs.MasterForm{
		Protocol: "jsonlist", Page: true, Needs: []string{"query=NAME"}, Options: []string{"game=GAME", "offset=0", "at=PATH", "host=ip", "port=port"},
		Usual: configs.OtherMaster{HostField: "ip", PortField: "port"},
	}

	_, _, _, _ = configs.DeclareMaster(peerForm), configs.DeclareMaster(textForm), configs.DeclareMaster(pagesForm), configs.DeclareMaster(jsonForm)
)

// newFetcher returns the fetcher of a master. The protocols of services have a service.Reader.
func newFetcher(m *configs.OtherMaster, d *dialer, catalogue *games.Catalog, self, dataDir string, reports *played.Table) fetcher {
	var read func(context.Context, *source, *dialer, int) error
	switch m.Protocol {
	case peerForm.Protocol:
		return newPeer(m, d, self, reports)
	case snapshotForm.Protocol:
		return newShelf(m, d, self, dataDir)
	case textForm.Protocol:
		read = readText
	case jsonForm.Protocol:
		read = readJSON
	case pagesForm.Protocol:
		read = read333
	}
	if read != nil {
		return once(func(ctx context.Context, s *source, most int) error { return read(ctx, s, d, most) })
	}
	return once(func(ctx context.Context, s *source, most int) error {
		return service.ReaderOf(m.Protocol)(ctx, &service.Reading{
			OtherMaster: m, Most: most, Games: catalogue, Self: self,
			Packets: func(ctx context.Context) (*netclient.Packets, error) { return d.udp(ctx, m) },
			Conn:    func(ctx context.Context) (net.Conn, error) { return d.connect(ctx, m, m.Address) },
			Tell: func(a netip.AddrPort, query, game string) {
				s.tell(found{addr: netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), query: query, game: game})
			},
		})
	})
}
