package federation

import (
	"context"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
)

// fetcher reads a master in its protocol.
type fetcher interface {
	// read tells s every entry of the list, at most about max. It may tell some and
	// then return an error.
	read(ctx context.Context, s *source, max int) (result string, err error)
	// follow tells s of changes until ctx ends, if the protocol has them, or returns.
	follow(ctx context.Context, s *source)
	// close ends follow and read.
	close()
}

// Times of single answers.
const (
	udpTimeout = 5 * time.Second // without an answer
	udpTries   = 3
	lingerFor  = time.Second // after the last packet of a list in Quake III's form
	pageRetry  = 2 * time.Second
)

// once is a fetcher of a protocol without changes.
type once func(ctx context.Context, s *source, max int) error

func (f once) read(ctx context.Context, s *source, max int) (string, error) {
	return resultRead, f(ctx, s, max)
}
func (once) follow(context.Context, *source) {}
func (once) close()                          {}

// newFetcher returns the fetcher of a master.
func newFetcher(m *configs.OtherMaster, d *dialer, catalogue *games.Catalog, self string) fetcher {
	var read func(context.Context, *source, *dialer, int) error
	switch m.Protocol {
	case "gamespy":
		return once(func(ctx context.Context, s *source, max int) error { return readGameSpy(ctx, s, d, catalogue, max) })
	case "serverbrowse":
		return once(func(ctx context.Context, s *source, max int) error { return readBrowse(ctx, s, d, catalogue, max) })
	case "utmaster":
		return once(func(ctx context.Context, s *source, max int) error { return readUnreal(ctx, s, d, catalogue, max) })
	case "333sync":
		return once(func(ctx context.Context, s *source, max int) error { return readSync(ctx, s, d, self, max) })
	case "zandronum":
		read = readZandronum
	case "valve":
		read = readValve
	case "q3":
		read = readQuake3
	case "codmaster":
		read = readCod
	case "cod4x":
		read = readCod4X
	case "idmaster":
		read = readIDTech4
	case "q2":
		read = readQuake2
	case "qw":
		read = readQuakeWorld
	case "textlist":
		read = readText
	case "jsonlist":
		read = readJSON
	case "333json":
		read = read333
	default:
		return newPeer(m, d, self)
	}
	return once(func(ctx context.Context, s *source, max int) error { return read(ctx, s, d, max) })
}

// tellAll tells the servers of a list, also those before an error. One that the master
// names twice is counted.
func tellAll(s *source, list []netip.AddrPort, query, game string, err error) error {
	for _, a := range list {
		s.tell(found{addr: netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), query: query, game: game})
	}
	return err
}
