package peerchat

import (
	"strings"
	"testing"
)

// TestPlayRoom plays the room of the self-test against services that answer wrongly.
func TestPlayRoom(t *testing.T) {
	const (
		alone  = ":s 353 Ann = #r :@Ann\r\n:s 366 Ann #r :End\r\n"
		parted = ":Ben!X@h PART #r :bye\r\n"
		both   = ":s 353 Ben = #r :@Ann Ben\r\n:s 366 Ben #r :End\r\n"
		key    = ":s 702 Ben #r Ann BCAST :\\b_flags\\sh\r\n"
		said   = ":Ann!X@h PRIVMSG #r :hello\r\n"
	)
	for name, tc := range map[string]struct{ host, guest, want string }{
		"all right":             {host: alone + parted, guest: both + key + said},
		"the room is not empty": {host: ":s 353 Ann = #r :@Eve Ann\r\n:s 366 Ann #r :End\r\n", guest: both, want: "member 1 of the room sees 2"},
		"two rooms":             {host: alone, guest: ":s 353 Ben = #r :@Ben\r\n:s 366 Ben #r :End\r\n", want: "member 2 of the room sees 1"},
		"refused":               {host: ":s 474 Ann #r :No\r\n", guest: both, want: "refused with 474"},
		"the key is lost":       {host: alone, guest: both, want: "a key was not sent"},
		"another value":         {host: alone, guest: both + ":s 702 Ben #r Ann BCAST :\\b_flags\\s\r\n", want: "a key was sent to the other member as"},
		"a key too short":       {host: alone, guest: both + ":s 702\r\n", want: "a key was sent to the other member as"},
		"the message is lost":   {host: alone, guest: both + key, want: "a message was not sent"},
		"another text":          {host: alone, guest: both + key + ":Ann!X@h PRIVMSG #r :*****\r\n", want: "a message was sent to the other member as"},
		"never gone":            {host: alone, guest: both + key + said, want: "a departure was not sent"},
		"closed":                {host: alone + "ERROR :Closing Link: (Excess flood)\r\n", guest: both + key + said, want: "Excess flood"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := recited(t, tc.host)
			guest, _ := recited(t, tc.guest)
			host.Nick, guest.Nick = "Ann", "Ben"
			err := playRoom(t.Context(), host, guest, "#r")
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
