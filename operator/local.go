package operator

import (
	"context"
	"io"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Store is a storage engine that can write a copy of itself while it is in use.
type Store interface {
	storage.Store
	Backup(ctx context.Context, w io.Writer) (int64, error)
}

// Local is the Conn of this process: what operations work on. Store, Table, Rules, Keys,
// PlayerFiles, News, Played and Catalogue are required.
type Local struct {
	Store Store
	Table *bans.Table
	Rules *chatrules.Table // of chat
	Keys  *cdkeys.Table    // CD keys of products
	// PlayerFiles are the files that players uploaded.
	PlayerFiles *files.Table
	// News holds the messages that games show at their start.
	News      *news.Table
	Played    *played.Table // what players reported of games
	Catalogue *Catalogue
	// Unlisted returns servers that services know but do not list, each with
	// the reason; nil: none.
	Unlisted func() []Listed
	// Nodes returns the nodes of the cluster, by name; nil: the daemon runs alone.
	Nodes func() []ClusterNode

	DataDir string
	// StoreName is the name of the store in a backup.
	StoreName string
	// Files are the paths of further files that belong into a backup, by their
	// names in it. One that does not exist is left out.
	Files   map[string]string
	Version string

	// OpenAccounts returns the rules of accounts. It may be called often.
	OpenAccounts func(context.Context) (*accounts.Service, error)

	// ResetPage returns the address of the page on which a reset link is used, only
	// its path if the public address is not known, "" if there is no such page.
	ResetPage func() string

	// BanFiles returns the lines of ban files that cover an address, all of them if it is
	// zero; nil: there are none.
	BanFiles func(addr netip.Addr) ([]FileBan, error)

	// StaticServers returns the servers that the configuration names; nil: none.
	StaticServers func() []storage.AddedServer
	// AskedServers returns the state of those and of the added ones; nil where no
	// daemon runs.
	AskedServers func() []AskedServer
	// CheckAdded refuses a server that cannot be asked, and brings its fields into
	// canonical form; nil: every server that the store accepts is added.
	CheckAdded func(*storage.AddedServer) error
	// OtherMasters returns the state of the other masters that are read; nil where no
	// daemon runs.
	OtherMasters func() []OtherMaster
	// MeetingCounts counts how players who negotiated reached each other; nil where no
	// daemon runs.
	MeetingCounts *meeting.Recorder
	// Recorder records dialogues of players; nil where no daemon runs.
	Recorder *dialogue.Recorder
	// RelayedPairs returns the pairs that are relayed; nil where no daemon runs.
	RelayedPairs func() []RelayedPair
	// ServersChanged applies the added and hidden servers of the store; nil where
	// no daemon runs.
	ServersChanged func(context.Context) error

	// RemoveElsewhere takes the servers under a public address off the lists of the other
	// nodes of a cluster, and returns how many nodes had some; nil where no daemon runs.
	RemoveElsewhere func(ctx context.Context, public netip.AddrPort) (int, error)

	// Listening returns when the daemon started, and the addresses of its services
	// by name; nil where no daemon runs.
	Listening func() (started time.Time, services map[string]string)
	// Registry, the logs of verdicts and Sessions are nil where no daemon runs.
	Registry  *master.Registry
	ServerLog *verdicts.Log
	PlayerLog *verdicts.Log
	Sessions  Sessions
	// OpenChat returns the chat, nil while it is off. The function is nil where no
	// daemon runs.
	OpenChat func() Chat
}
