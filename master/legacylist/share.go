package legacylist

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
)

const (
	// maxShared bounds the servers that another master gets.
	maxShared = 20_000
	// shareEvery is how often an address may ask for them; shareBurst times at once, as several
	// masters may have one address.
	shareEvery = time.Minute
	shareBurst = 2
	// allShared asks for the servers of all games.
	allShared = "all"
	// sharedQuery is the protocol in which other masters query them.
	sharedQuery = "gs1"
)

// identity returns by what a master of 333networks recognizes itself, for that of the daemon.
func identity(master string) string {
	sum := sha256.Sum256([]byte(master))
	return hex.EncodeToString(sum[:6])
}

// share answers another master with the servers that reported here or were queried from here. Those
// that are known from other masters are not passed on, so that dead ones do not go round. A master
// without the right secret, or one that asks too often, gets no byte, as from others.
func (x *session) share(r *inquiry) error {
	_, ok := gamespy.CheckValidate(0, []string{gamespy.MasterSecret}, x.challenge, []byte(r.validate))
	x.server.metrics.validation(ok)
	a := x.conn.Peer().Addr()
	if !ok || !x.server.opt.Trusted.Has(a) && !x.server.shares.Allow(a, time.Now()) {
		return endedShare
	}
	var list []byte
	if r.identity == "" || r.identity != identity(x.server.opt.Master) {
		list = x.server.shared(r)
	}
	x.server.metrics.list(listShared)
	_, err := x.out.Write(append(list, gamespy.Final...))
	return err
}

// shared writes the servers of the games that a master asks for.
func (s *Server) shared(r *inquiry) (b []byte) {
	outside := s.opt.Addresses.Outside()
	game, n := "", 0
	for _, srv := range s.opt.Registry.All() { // by game
		at := outside.Given(srv.Public)
		switch {
		case srv.Origin == master.Federated, srv.Restored, srv.QueryProtocol() != sharedQuery, !at.Addr().Is4(), !r.wants(srv.Game):
			continue
		case n == maxShared:
			return b
		case srv.Game != game:
			game = srv.Game
			b = append(append(append(b, '\\'), game...), '\\')
		}
		n++
		b = append(at.AppendTo(b), ' ')
	}
	return b
}
