package serverbrowse

import (
	"bytes"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// Bounds of the indexes of names.
const (
	maxNameRows   = 200_000  // players of one game that can be found
	maxNameBytes  = 8 << 20  // of their names
	maxIndexes    = 4096     // games with a cached index
	maxIndexBytes = 64 << 20 // of all indexes; one search may read all of it
	// An outdated index is used for indexHold, or for indexFactor times the duration of
	// its build if that is longer.
	indexHold   = time.Second
	indexFactor = 20
)

// playerColumn is the column of the player table that holds names.
const playerColumn = "player_"

// nameIndex holds the names of the players of one game at one moment, as one
// text for fast searches. It references no records, so that an unused index
// keeps no other memory alive. It is immutable.
type nameIndex struct {
	folded  []byte        // a NUL, then each name in lower case and a NUL
	names   []byte        // the same names as the servers reported them
	servers []namedServer // in the order of their names
	serial  uint64        // of the game's last change that it shows
	built   time.Time
	took    time.Duration

	views.Sending
}

// namedServer is the offset of the names of a server in an index.
type namedServer struct {
	public netip.AddrPort
	from   int
}

// Size implements views.View.
func (n *nameIndex) Size() int { return 2*cap(n.names) + 40*cap(n.servers) }

func newIndexes() *views.Cache[string, nameIndex, *nameIndex] {
	return views.New[string, nameIndex, *nameIndex](views.Options{Views: maxIndexes, Bytes: maxIndexBytes})
}

// names returns the index of a game, which may be slightly old; see indexHold.
func (s *Server) names(game string) *nameIndex {
	n, _ := s.indexes.Get(game, func(n *nameIndex) bool {
		return time.Since(n.built) < max(indexHold, indexFactor*n.took) || n.serial == s.opt.Registry.Serial(game)
	}, func() (*nameIndex, error) {
		return s.indexes.InTurn(func() (*nameIndex, error) { return indexNames(s.opt.Registry, game), nil })
	})
	return n // a build cannot fail
}

func indexNames(reg *master.Registry, game string) *nameIndex {
	began := time.Now()
	list, serial := reg.Snapshot(game, nil)
	n := &nameIndex{names: []byte{0}, serial: serial, built: began}
	rows := 0
	for _, s := range list {
		column, ok := s.Players.Names().Index(playerColumn)
		if !ok || !shown(s) || s.Players.Rows() == 0 {
			continue
		}
		n.servers = append(n.servers, namedServer{s.Public, len(n.names)})
		for r := range s.Players.Rows() {
			name, _, _ := strings.Cut(s.Players.Value(r, column), "\x00")
			if rows++; rows > maxNameRows || len(n.names)+len(name) >= maxNameBytes {
				n.fold(began)
				return n
			}
			n.names = append(append(n.names, name...), 0)
		}
	}
	n.fold(began)
	return n
}

func (n *nameIndex) fold(began time.Time) {
	n.names = slices.Clip(n.names)
	n.folded = []byte(master.FoldName(string(n.names)))
	n.took = time.Since(began)
}

// find yields the servers and names that a search in lower case matches.
func (n *nameIndex) find(o SearchOption, wanted string) iter.Seq2[netip.AddrPort, string] {
	return func(yield func(netip.AddrPort, string) bool) {
		pattern, lead := o.pattern(wanted)
		for at := 0; ; {
			i := bytes.Index(n.folded[at:], pattern)
			if i < 0 {
				return
			}
			in := at + i + lead // in the name, or at its end
			if in >= len(n.folded) {
				return
			}
			start := bytes.LastIndexByte(n.folded[:in], 0) + 1
			end := in + bytes.IndexByte(n.folded[in:], 0)
			if o.matches(string(n.folded[start:end]), wanted) && !yield(n.server(start), string(n.names[start:end])) {
				return
			}
			at = end // the NUL that ends this name begins the next
		}
	}
}

// server returns the server whose names include an offset.
func (n *nameIndex) server(at int) netip.AddrPort {
	i, exact := slices.BinarySearchFunc(n.servers, at, func(s namedServer, at int) int { return s.from - at })
	if !exact {
		i--
	}
	return n.servers[i].public
}

// pattern returns a text that every matching name has in an index, and how many
// bytes of it precede the name.
func (o SearchOption) pattern(wanted string) (pattern []byte, lead int) {
	switch {
	case wanted == "":
		return []byte{0}, 1
	case o&SearchSubstring != 0, o&SearchPrefix != 0 && o&SearchSuffix != 0:
		return []byte(wanted), 0
	case o&SearchPrefix != 0:
		return []byte("\x00" + wanted), 1
	case o&SearchSuffix != 0:
		return []byte(wanted + "\x00"), 0
	}
	return []byte("\x00" + wanted + "\x00"), 1
}

// matches compares two names in lower case.
func (o SearchOption) matches(name, wanted string) bool {
	switch {
	case o&SearchSubstring != 0:
		return strings.Contains(name, wanted)
	case o&SearchPrefix != 0 && strings.HasPrefix(name, wanted):
		return true
	case o&SearchSuffix != 0 && strings.HasSuffix(name, wanted):
		return true
	}
	return name == wanted
}
