package crash

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// importFile returns n accounts with several profiles, as a file for the
// command import.
func importFile(n, profiles int) (list []accounts.Account) {
	for i := range n {
		a := accounts.Account{Email: fmt.Sprintf("i%d@example.com", i), Password: rig.StormPassword}
		for j := range profiles {
			a.Profiles = append(a.Profiles, accounts.AccountProfile{Profile: storage.Profile{Nick: fmt.Sprint("Nick", j)}})
		}
		list = append(list, a)
	}
	return list
}

// After the daemon was killed during an import, each account has all of its
// profiles or does not exist; repeating the import adds the rest.
func TestKilledImportLeavesNoHalfAccounts(t *testing.T) {
	t.Parallel()
	const profiles = 8
	dir := t.TempDir()
	list := importFile(60, profiles)
	c := rig.StartChild(t, dir)
	op := c.Client(dir)
	imported := make(chan error, 1)
	go func() { // ends with the daemon
		_, err := operator.ImportAccounts.Call(t.Context(), op, operator.AccountImport{Accounts: list})
		imported <- err
	}()
	watch := c.Client(dir)
	for seen := 0; seen < 5; {
		page, err := operator.ListAccounts.Call(t.Context(), watch, operator.AccountQuery{})
		rig.Must(t, err)
		seen = len(page.Accounts)
	}
	c.Kill()
	err := <-imported

	stored := 0
	check := func(c *rig.Child) {
		t.Helper()
		page, err := operator.ListAccounts.Call(t.Context(), c.Client(dir), operator.AccountQuery{})
		rig.Must(t, err)
		for _, a := range page.Accounts {
			if len(a.Profiles) != profiles {
				t.Errorf("%s has %d profiles, want %d", a.Email, len(a.Profiles), profiles)
			}
		}
		stored = len(page.Accounts)
	}
	c = rig.StartChild(t, dir)
	check(c)
	t.Logf("killed after %d of %d accounts (%v)", stored, len(list), err)
	file := ""
	for _, a := range list {
		line, err := json.Marshal(a)
		rig.Must(t, err)
		file += string(line) + "\n"
	}
	_, out, errOut := rig.Typing(t, c.CliEnv(), file, "account", "import", "-")
	rig.WantIn(t, out, fmt.Sprintf("imported %d accounts, refused %d", len(list)-stored, stored))
	if check(c); stored != len(list) {
		t.Errorf("%d accounts after the second import, want %d\n%s", stored, len(list), errOut)
	}
}
