package webservices

import (
	"path/filepath"

	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/bfhq"
	"github.com/respawnd/respawnd/webservices/competition"
	"github.com/respawnd/respawnd/webservices/gamefiles"
	"github.com/respawnd/respawnd/webservices/motd"
	"github.com/respawnd/respawnd/webservices/nas"
	"github.com/respawnd/respawnd/webservices/sake"
	"github.com/respawnd/respawnd/webservices/sakefiles"
)

// Config is section webservices of the configuration. The comment of each field
// explains its key.
type Config struct {
	// TCP address. Games expect port 80. Where the daemon has no right to open it,
	// it starts without web services and logs the remedy.
	Listen string `key:"listen" default:":80" listen:"tcp 80"`
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" default:"4096" range:"1 to 1000000"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"256" range:"1 to 1000000"`
	// Requests per second from one address, {range}. 0: no bound.
	Rate int `key:"rate" default:"50" range:"0 to 1000000" live:"true"`
	// Requests that one address may send at once before the rate applies, {range}.
	Burst int `key:"burst" default:"500" range:"1 to 1000000" live:"true"`
	// How games are patched to accept this server: {words}. keypair: with the
	// modulus of the service key. identity: with the exponent 000001; then
	// passwords can be read on the way. `respawnd webservices key --explain` says
	// more.
	RSAMode string `key:"rsa_mode" default:"keypair" words:"keypair, identity"`
	// File with the service key: RSA of 1024 bits, PEM, PKCS#1, mode 0600. It is part
	// of every backup. Empty: webservices.key in data_dir, made at the first start.
	KeyFile string `key:"key_file" as:"text"` // as configured, may be empty: use Config.KeyPath
	// Accounts that games may make for one address per minute, {range}. 0: no bound.
	Registrations int `key:"registrations" default:"20" range:"0 to 1000000" live:"true"`
	// Tickets of the PS3, true or false. true: games sign in with a ticket of the console
	// (LoginPs3Cert). Its signature cannot be checked, so everyone who knows the number of
	// a player on the network of the console can sign in as that player. Accounts with a
	// password are not concerned.
	ConsoleTickets bool `key:"console_tickets" default:"false" live:"true"`
	// TCP address for games that ask over https. They expect port 443 and speak
	// SSL 3.0 with RC4, which is no protection: everyone on the way can read and change the
	// traffic. Empty: off.
	TLSListen string `key:"tls_listen" as:"listen"`
	// Handshakes of SSL per second, {range}. Each costs about half a millisecond of
	// a processor.
	TLSHandshakes int `key:"tls_handshakes" default:"100" range:"1 to 100000" live:"true"`
	// Handshakes of SSL per second from one address, {range}.
	TLSHandshakesPerAddr int `key:"tls_handshakes_per_addr" default:"10" range:"1 to 100000" live:"true"`
	// Handshakes of SSL at a time, {range}. When there are more, one of the address
	// with most of them ends.
	TLSPending int `key:"tls_pending" default:"256" range:"1 to 100000" live:"true"`

	sake.RecordConfig
	sakefiles.FileConfig
	competition.MatchConfig
	motd.NewsConfig
	gamefiles.FilesConfig
	bfhq.PagesConfig
	nas.ConsoleConfig
}

// The modes of Config.RSAMode.
const (
	Keypair  = "keypair"
	Identity = "identity"
)

// KeyPath returns the path of the service key: key_file, or auth.KeyName in the data
// folder if that is empty.
func (c *Config) KeyPath(dataDir string) string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Join(dataDir, auth.KeyName)
}
