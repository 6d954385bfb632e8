package federation

import (
	"fmt"
	"time"

	"github.com/respawnd/respawnd/configs"
)

// MaxMasters is the maximum number of masters that are read.
const MaxMasters = 64

// Config is section federation of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Other masters, at most 64: a protocol, an address, and options. Off while the
	// list is empty. The forms are
	//   {masters}
	// and each may have name=NAME, for pages, metrics and the log; without it that
	// is the host, with the game. A master whose name is lan or begins with lan- may
	// list servers with private addresses, and its host name may lead to one.
	// enctype is the encryption of the list, 0 to 2; list is cmp or plain; query is
	// the protocol in which the servers answer, if it is another one than usual.
	// offset is added to the ports of a list. at is where the array of a JSON text
	// is, such as data.servers, host and port are the names in its objects.
	// snapshot is a folder that snapshot.dir of another daemon wrote, here or at a URL;
	// key is what `respawnd snapshot key` prints there, restore_for how old its list may be.
	// With verified=true the servers of a respawnd are listed without a query of
	// our own. Such as:
	//   federation:
	//     masters:
	//       - q3 dpmaster.example.org game=Xonotic protocol=3
	//       - respawnd https://friends.example.org name=friends
	Masters []configs.OtherMaster `key:"masters" live:"true"`
	// How often each master is read, {range}. After a failure sooner at first, then
	// less often.
	Every time.Duration `key:"every" default:"5m" range:"30s to 24h" live:"true"`
	// Entries that are read of the list of one master, {range}.
	MaxPerMaster int `key:"max_per_master" default:"20000" range:"1 to 200000" live:"true"`
	// A server leaves the list when no master has listed it for this long, {range},
	// and not before two readings.
	Expire time.Duration `key:"expire" default:"15m" range:"1m to 168h" live:"true"`
}

// Mistakes returns the mistakes of a list of masters as a whole: too many, and those that cannot be
// distinguished.
func Mistakes(list []configs.OtherMaster) (all []configs.KeyError) {
	const key = "federation.masters"
	if len(list) > MaxMasters {
		all = append(all, configs.KeyError{Key: key, Problem: fmt.Sprintf("has more than %d entries", MaxMasters)})
	}
	at := make(map[string]int)
	for i, m := range list {
		if first, taken := at[m.Name]; taken {
			all = append(all, configs.KeyError{
				Key: key, Value: m.String(), Problem: fmt.Sprintf("has the name of entry %d, %q: add name=NAME", first+1, m.Name),
			})
			continue
		}
		at[m.Name] = i
	}
	return all
}
