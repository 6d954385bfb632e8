package accounts

import "path/filepath"

// KeyName is the name of the key that seals passwords in the data folder and in a
// backup.
const KeyName = "account.key"

// KeyPath returns the path of the key that seals passwords: key_file, or KeyName in
// the data folder if that is empty.
func (c *Config) KeyPath(dataDir string) string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Join(dataDir, KeyName)
}

// Config is section accounts of the configuration. The comment of each field explains
// its key.
type Config struct {
	// File with the key that seals passwords, made at the first start if
	// missing. Without it the accounts in data_dir are unusable, so it is part
	// of every backup. Empty: account.key in data_dir.
	KeyFile string `key:"key_file" as:"text"` // as configured, may be empty: use Config.KeyPath
	// Keeps the passwords and CD keys themselves, sealed with the key file beside
	// their digests, true or false. Games sign in without it; gstats needs it,
	// because players prove themselves there with the password itself, and refuses
	// those whose password is not kept. It is kept at the next sign-in with the
	// password on a page, in the search service or by a command. With false,
	// passwords that were kept stay until they change.
	KeepPasswords bool `key:"keep_passwords" default:"true"`
	// Players sign in with a unique nick of another namespace, true or false: if
	// the namespace of the game does not have the nick, and exactly one other
	// namespace does. Games of one community then share accounts. Each such
	// sign-in is logged.
	NickFallback bool `key:"nick_fallback" default:"true"`
}
