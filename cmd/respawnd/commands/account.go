package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// accountsWhenWanted opens the accounts on first use: commands that do not use
// accounts need no key.
func accountsWhenWanted(cfg *services.Config, store accounts.Store) func(context.Context) (*accounts.Service, error) {
	var mu sync.Mutex // guards s
	var s *accounts.Service
	return func(ctx context.Context) (*accounts.Service, error) {
		mu.Lock()
		defer mu.Unlock()
		if s != nil {
			return s, nil
		}
		var err error
		s, err = daemon.OpenAccounts(ctx, cfg, store, nil, zerolog.Nop())
		return s, err
	}
}

// accountFlags select an account.
type accountFlags struct {
	partner, namespace int
	game               string // whose namespace and partner code are used; empty: those of the flags
}

// settle sets namespace and partner code from the game, if one is named.
func (f *accountFlags) settle(ctx context.Context, op operator.Operator) error {
	if f.game == "" {
		return nil
	}
	list, err := op.Games(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return ascii.EqualFold(g.Name, f.game) })
	if i < 0 {
		return fmt.Errorf("--game: there is no game %s", printable(f.game))
	}
	f.namespace, f.partner = list[i].UniqueNicks(), list[i].Partner
	return nil
}

func (p *program) accountCommand() *cobra.Command {
	const short = "Manage accounts of players"
	f := new(accountFlags)
	account := group("account", short,
		p.accountCreate(f), p.accountList(), p.accountShow(f), p.accountPasswd(f), p.accountResetLink(f), p.accountBan(f), p.accountUnban(f),
		p.accountDelete(f), p.accountExport(), p.accountImport(), p.accountRotateKey())
	account.Long = short + ".\n\nAn account is named by its e-mail, by a unique nick or by its number. Passwords\n" +
		"are only read from standard input, never from arguments."
	account.PersistentFlags().IntVar(&f.partner, "partner", 0, "partner code; 0 for nearly every game")
	account.PersistentFlags().IntVar(&f.namespace, "namespace", 1, "namespace of unique nicks; 1 for nearly every game")
	account.PersistentFlags().StringVar(&f.game, "game", "", "game whose namespace and partner code to use, instead of --namespace and --partner")
	return account
}

// find returns the account that an argument names.
func (f *accountFlags) find(ctx context.Context, op operator.Operator, name string) (accounts.Account, error) {
	if err := f.settle(ctx, op); err != nil {
		return accounts.Account{}, err
	}
	ref := operator.AccountRef{Partner: f.partner, Namespace: f.namespace}
	id, err := strconv.ParseUint(name, 10, 31)
	switch {
	case err == nil && id > 0:
		ref.ID = storage.UserID(id)
	case strings.Contains(name, "@"):
		ref.Email = name
	default:
		ref.UniqueNick = name
	}
	a, err := op.FindAccount(ctx, ref)
	if errors.Is(err, storage.ErrNotFound) {
		return a, fmt.Errorf("%s: no such account%s: %w", name, elsewhere(ctx, op, ref), err)
	}
	return a, err
}

// elsewhere names the namespaces that have the unique nick of an account that was not
// found, "" if there is none.
func elsewhere(ctx context.Context, op operator.Operator, ref operator.AccountRef) string {
	if ref.UniqueNick == "" {
		return ""
	}
	var found []string
	for q := (operator.AccountQuery{Match: ref.UniqueNick}); ; {
		page, err := op.ListAccounts(ctx, q)
		for i := range page.Accounts {
			for _, p := range page.Accounts[i].Profiles {
				for _, n := range p.Profile.UniqueNicks {
					if storage.Fold(n.Nick) == storage.Fold(ref.UniqueNick) {
						found = append(found, fmt.Sprintf("--namespace %d", n.Namespace))
					}
				}
			}
		}
		if q.After = page.Next; err != nil || q.After == 0 {
			break
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(" in namespace %d; another one has it: %s", ref.Namespace, strings.Join(found, " or "))
}

// onAccount returns a command that works on one account.
func (p *program) onAccount(f *accountFlags, use, short string,
	do func(ctx context.Context, op operator.Operator, a accounts.Account) error,
) *cobra.Command {
	return p.operatorCommand(use+" EMAIL|UNIQUENICK|ID", short, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			a, err := f.find(ctx, op, args[0])
			if err != nil {
				return err
			}
			return do(ctx, op, a)
		})
}

// passwordFlag adds --password-stdin to a command.
func passwordFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("password-stdin", false, "read the password from standard input")
}

// maxPasswordLine is the maximum number of bytes read for a password, far more
// than a password may have.
const maxPasswordLine = 1024

var errNoPassword = errors.New("no password: give --password-stdin and the password on standard input")

// readPassword reads a password from standard input, or asks for it if that is
// a terminal.
func (p *program) readPassword(stdin bool) (string, error) {
	if f, ok := p.in.(*os.File); ok && !stdin && term.IsTerminal(int(f.Fd())) {
		return p.askPassword(f)
	}
	if !stdin {
		return "", usageError{errNoPassword}
	}
	b, err := io.ReadAll(io.LimitReader(p.in, maxPasswordLine+1))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if len(b) > maxPasswordLine {
		return "", errors.New("the password on standard input is too long")
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || strings.TrimSpace(rest) != "" {
		return "", errors.New("standard input must be the password, on one line")
	}
	return line, nil
}

// askPassword asks for a password twice without showing it.
func (p *program) askPassword(f *os.File) (string, error) {
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		if _, err := fmt.Fprint(p.err, prompt); err != nil {
			return "", err
		}
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(p.err) // the line end was not shown either
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(b)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passwords are not the same")
	}
	return typed[0], nil
}

func (p *program) accountCreate(f *accountFlags) *cobra.Command {
	var a operator.NewAccount
	cmd := p.operatorCommand("create --email E --nick N [--uniquenick U] --password-stdin", "Create an account, or a further profile of one", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			if err := f.settle(ctx, op); err != nil {
				return err
			}
			a.Partner, a.Namespace = f.partner, f.namespace
			made, err := op.CreateAccount(ctx, a)
			return p.confirm(err, "created profile %d (%s) of account %d (%s)", made.ID, printable(made.Nick), made.User, a.Email)
		})
	cmd.Flags().StringVar(&a.Email, "email", "", "e-mail to sign in with; nothing is sent to it")
	cmd.Flags().StringVar(&a.Nick, "nick", "", "nick of the profile")
	cmd.Flags().StringVar(&a.UniqueNick, "uniquenick", "", "unique nick of the profile; most games sign in with it")
	stdin := passwordFlag(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if a.Email == "" || a.Nick == "" {
			return usageError{errors.New("--email and --nick are needed")}
		}
		if a.UniqueNick != "" && f.namespace == 0 && f.game == "" {
			return usageError{errors.New("--uniquenick: namespace 0 has no unique nicks")}
		}
		a.Password, err = p.readPassword(*stdin)
		return err
	}
	return cmd
}

func (p *program) accountList() *cobra.Command {
	var match string
	cmd := p.listCommand("list", "Show all accounts", cobra.NoArgs, func(ctx context.Context, op operator.Operator, _ []string) error {
		return p.listAccounts(ctx, op, match)
	})
	cmd.Flags().StringVar(&match, "match", "", "only those with this in their e-mail, nick or unique nick")
	return cmd
}

func (p *program) listAccounts(ctx context.Context, op operator.Operator, match string) error {
	var all []accounts.Account
	leftOut := 0
	for q := (operator.AccountQuery{Match: match}); ; {
		page, err := op.ListAccounts(ctx, q)
		if err != nil {
			return err
		}
		all = append(all, page.Accounts...)
		leftOut += page.LeftOut
		if q.After = page.Next; q.After == 0 {
			break
		}
	}
	if err := show(p, "id\tpartner\te-mail…\tnicks…\tcreated\tbanned", all, func(a accounts.Account) []string {
		return []string{strconv.Itoa(int(a.ID)), strconv.Itoa(a.Partner), a.Email, dash(nicks(&a)), stamp(a.Created), banned(a.Ban)}
	}); err != nil {
		return err
	}
	return someLeftOut(leftOut)
}

// someLeftOut is the error of a command that could not read all accounts.
func someLeftOut(n int) error {
	if n > 0 {
		return fmt.Errorf("%d accounts are damaged and left out", n)
	}
	return nil
}

// nicks returns the nicks of an account, each with its unique nicks.
func nicks(a *accounts.Account) string {
	var out []string
	for i := range a.Profiles {
		p := &a.Profiles[i].Profile
		words := []string{p.Nick}
		for _, n := range p.UniqueNicks {
			words = append(words, fmt.Sprintf("(%s in %d)", n.Nick, n.Namespace))
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, ", ")
}

// banned returns the end of an account's ban, "-" if it is not banned.
func banned(b storage.AccountBan) string {
	if !b.In(time.Now()) {
		return "-"
	}
	return "until " + until(b.Expires)
}

// passwordState returns in words whether the password itself is kept.
func passwordState(kept bool) string {
	if kept {
		return "kept, statistics accept it"
	}
	return "only its digest is kept, statistics refuse it; kept at the next sign-in on /account or by account passwd"
}

func (p *program) accountShow(f *accountFlags) *cobra.Command {
	return p.jsonFlag(p.onAccount(f, "show", "Show an account with its profiles", func(_ context.Context, _ operator.Operator, a accounts.Account) error {
		if p.json {
			return p.printObject(a)
		}
		ban := banned(a.Ban)
		if ban != "-" && a.Ban.Reason != "" {
			ban += " (" + printable(a.Ban.Reason) + ")"
		}
		rows := [][]string{
			{"account", strconv.Itoa(int(a.ID))},
			{"e-mail", a.Email},
			{"partner", strconv.Itoa(a.Partner)},
			{"created", stamp(a.Created)},
			{"banned", ban},
			{"password", passwordState(a.Kept)},
		}
		for i := range a.Profiles {
			rows = append(rows, profileRows(&a.Profiles[i])...)
		}
		return p.table("what\tvalue…", rows)
	}))
}

// profileRows are the lines about one profile.
func profileRows(p *accounts.AccountProfile) [][]string {
	rows := [][]string{
		{"profile", strconv.Itoa(int(p.Profile.ID))}, {"  nick", dash(p.Profile.Nick)}, {"  created", stamp(p.Profile.Created)},
	}
	for _, n := range p.Profile.UniqueNicks {
		rows = append(rows, []string{"  unique nick", fmt.Sprintf("%s in namespace %d", n.Nick, n.Namespace)})
	}
	for _, k := range p.Profile.CDKeys {
		rows = append(rows, []string{"  CD key", fmt.Sprintf("of %s since %s", printable(k.Game), stamp(k.Added))})
	}
	for _, f := range []struct{ name, value string }{
		{"first name", p.Profile.FirstName}, {"last name", p.Profile.LastName}, {"place", p.Profile.Place}, {"country", p.Profile.Country},
	} {
		if f.value != "" {
			rows = append(rows, []string{"  " + f.name, printable(f.value)})
		}
	}
	return append(rows, []string{"  buddies", idList(p.Buddies)}, []string{"  blocks", idList(p.Blocks)})
}

func idList(ids []storage.ProfileID) string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, strconv.Itoa(int(id)))
	}
	return dash(strings.Join(out, " "))
}

func (p *program) accountPasswd(f *accountFlags) *cobra.Command {
	password := ""
	cmd := p.onAccount(f, "passwd", "Change the password of an account; its sessions end",
		func(ctx context.Context, op operator.Operator, a accounts.Account) error {
			return p.confirm(op.SetPassword(ctx, a.ID, password), "changed the password of account %d (%s)", a.ID, a.Email)
		})
	stdin := passwordFlag(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) (err error) { // before the store is opened: typing takes long
		password, err = p.readPassword(*stdin)
		return err
	}
	return cmd
}

func (p *program) accountResetLink(f *accountFlags) *cobra.Command {
	return p.onAccount(f, "reset-link", "Print a link with which the owner sets another password, once, within 24 hours",
		func(ctx context.Context, op operator.Operator, a accounts.Account) error {
			r, err := op.IssueReset(ctx, a.ID)
			if err != nil {
				return err
			}
			hint := ""
			if strings.HasPrefix(r.Link, "/") {
				hint = "\nweb.public_url is not set: put the address of your pages before the path"
			}
			return p.say("%s\nfor account %d (%s), once, until %s; an earlier link has ended%s", r.Link, a.ID, a.Email, stamp(r.Expires), hint)
		})
}

func (p *program) accountBan(f *accountFlags) *cobra.Command {
	var flags *banFlags
	cmd := p.onAccount(f, "ban", "Ban an account; takes effect at once", func(ctx context.Context, op operator.Operator, a accounts.Account) error {
		end, err := flags.end(time.Now())
		if err != nil {
			return err
		}
		b := storage.AccountBan{Reason: flags.reason, By: "cli", Expires: end}
		return p.confirm(op.BanAccount(ctx, a.ID, b), "banned account %d (%s) until %s", a.ID, a.Email, until(end))
	})
	flags = addBanFlags(cmd)
	return cmd
}

func (p *program) accountUnban(f *accountFlags) *cobra.Command {
	return p.onAccount(f, "unban", "Lift the ban of an account", func(ctx context.Context, op operator.Operator, a accounts.Account) error {
		return p.confirm(op.UnbanAccount(ctx, a.ID), "account %d (%s) is not banned", a.ID, a.Email)
	})
}

func (p *program) accountDelete(f *accountFlags) *cobra.Command {
	return p.onAccount(f, "delete", "Delete an account with all that is stored for its profiles; cannot be undone",
		func(ctx context.Context, op operator.Operator, a accounts.Account) error {
			return p.confirm(op.DeleteAccount(ctx, a.ID), "deleted account %d (%s)", a.ID, a.Email)
		})
}

func (p *program) accountRotateKey() *cobra.Command {
	return p.operatorCommand("rotate-key", "Seal all passwords with a new key", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			n, err := op.RotateAccountKey(ctx)
			return p.confirm(err, "sealed %d accounts with a new key; backups from before hold the old one", n)
		})
}
