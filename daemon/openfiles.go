package daemon

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
)

// ownFiles is the number of files that the daemon may have open in addition to
// limited connections: the store, the sockets, the operator's connections,
// webhooks.
const ownFiles = 256

// filesNeeded returns how many files are open when every enabled service has as
// many connections and sockets as it may have, and the keys of those limits, the
// largest first.
func (s *settings) filesNeeded() (n int, keys []string) {
	sockets := make(map[string]int)
	for _, e := range s.entries {
		if !e.On {
			continue
		}
		maps.Copy(sockets, e.Sockets)
		key := e.Name + ".max_conns"
		if most, ok := configs.Int(s.config, key); ok {
			sockets[key] = most
		}
	}
	n = ownFiles
	for _, most := range sockets {
		n += most
	}
	return n, slices.SortedFunc(maps.Keys(sockets), func(a, b string) int {
		return cmp.Or(cmp.Compare(sockets[b], sockets[a]), cmp.Compare(a, b))
	})
}

// ordinaryFiles is a limit of open files that is enough for the defaults: they bound each service
// by itself, and hardly any daemon has all of them full. Clients beyond it wait to be accepted.
const ordinaryFiles = 16 << 10

// checkOpenFiles logs a warning if the system's limit of open files is below the limits of
// connections and sockets, and either is not an ordinary one.
func (s *settings) checkOpenFiles(log zerolog.Logger) {
	allowed, known := openFilesAllowed()
	needed, keys := s.filesNeeded()
	if known && allowed < uint64(needed) && (allowed < ordinaryFiles || s.raises(keys)) {
		log.Warn().Uint64("allowed", allowed).Int("needed", needed).Strs("keys", keys).Msg(TooFewFiles)
	}
}

// raises reports whether one of the keys has a value above its default.
func (s *settings) raises(keys []string) bool {
	return slices.ContainsFunc(configs.Keys(s.config), func(k configs.Key) bool {
		value, ok := configs.Int(s.config, k.Name)
		usual, err := strconv.Atoi(k.Default)
		return ok && err == nil && value > usual && slices.Contains(keys, k.Name)
	})
}

// TooFewFiles is the warning, with its remedy.
const TooFewFiles = "this process may have fewer open files than the configured connections and sockets can take: " +
	"raise the limit (LimitNOFILE of systemd, --ulimit nofile of containers, ulimit -n of shells) or lower the keys"
