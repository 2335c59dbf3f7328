// Command golden writes what this release of Talos answers to the inputs in crates/talos/tests/data.
//
// It is compiled inside Talos' own module, because the platforms are internal packages. Each answer replaces that of another patch
// release of the same minor release. Where the expected file is the answer of another release, only a difference is written.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"go.yaml.in/yaml/v4"

	"github.com/siderolabs/talos/internal/app/machined/pkg/runtime"
	"github.com/siderolabs/talos/internal/app/machined/pkg/runtime/v1alpha1/platform/metal"
	metalurl "github.com/siderolabs/talos/internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url"
	"github.com/siderolabs/talos/internal/app/machined/pkg/runtime/v1alpha1/platform/nocloud"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/bundle"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/extensions"
	"github.com/siderolabs/talos/pkg/machinery/extensions/services"
	"github.com/siderolabs/talos/pkg/machinery/meta"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	runtimeres "github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/version"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: golden FOLDER")
	}

	check(os.Chdir(os.Args[1]))
	log.SetOutput(io.Discard)

	for _, write := range []func(){
		writeRelease, writeKubernetes, writeMeta, writeMetalMeta, writeNocloud, writeURLs, writeExtensions, writeServices,
		writeSecrets, writeValidation, writePatches, writeClusters,
	} {
		write()
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// The text of an error, as the files have it.
func text(err error) string {
	return "ERROR: " + strings.ReplaceAll(strings.TrimSpace(err.Error()), "\t", " ")
}

func minor(release string) string {
	parts := strings.SplitN(release, ".", 3)

	return parts[0] + "." + parts[1] + "."
}

func sameMinor(release string) bool {
	return strings.HasPrefix(release, minor(version.Tag))
}

// Puts this release's answer in the place of one of the same minor release.
func replace[T any](answers map[string]T, answer T) {
	for release := range answers {
		if sameMinor(release) {
			delete(answers, release)
		}
	}

	answers[version.Tag] = answer
}

func read(parts ...string) []byte {
	content, err := os.ReadFile(filepath.Join(parts...))
	check(err)

	return content
}

// The content of a file that may be missing.
func optional(parts ...string) []byte {
	content, err := os.ReadFile(filepath.Join(parts...))
	if !errors.Is(err, fs.ErrNotExist) {
		check(err)
	}

	return content
}

func write(content []byte, parts ...string) {
	check(os.WriteFile(filepath.Join(parts...), content, 0o644))
}

func readJSON(into any, parts ...string) {
	decoder := json.NewDecoder(bytes.NewReader(read(parts...)))
	decoder.DisallowUnknownFields()
	check(decoder.Decode(into))
}

func writeJSON(value any, parts ...string) {
	var buffer bytes.Buffer

	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	check(encoder.Encode(value))
	write(buffer.Bytes(), parts...)
}

func folders(parent string) []string {
	var found []string

	entries, err := os.ReadDir(parent)
	check(err)

	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, filepath.Join(parent, entry.Name()))
		}
	}

	return found
}

func documents(content []byte) []any {
	var all []any

	decoder := yaml.NewDecoder(bytes.NewReader(content))

	for {
		var document any

		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}

		check(err)

		all = append(all, document)
	}
}

// Writes an answer that differs from the expected one as differs-on-RELEASE.yaml or .error.txt.
func writeDifference(folder string, content []byte, failure string) bool {
	old, err := filepath.Glob(filepath.Join(folder, "differs-on-"+minor(version.Tag)+"*"))
	check(err)

	for _, path := range old {
		check(os.Remove(path))
	}

	expected := optional(folder, "expected.yaml")

	switch {
	case failure != "" && expected == nil:
		return false
	case failure != "":
		write([]byte(failure+"\n"), folder, "differs-on-"+version.Tag+".error.txt")
	case expected != nil && reflect.DeepEqual(documents(content), documents(expected)):
		return false
	default:
		write(content, folder, "differs-on-"+version.Tag+".yaml")
	}

	return true
}

func newState() state.State {
	return state.WrapCore(namespaced.NewState(inmem.Build))
}

// releases.txt: the Kubernetes that this release installs. Its line is not in the place of another one.
func writeRelease() {
	var lines []string

	for line := range strings.Lines(string(read("releases.txt"))) {
		if !strings.HasPrefix(line, version.Tag+" ") {
			lines = append(lines, line)
		}
	}

	lines = append(lines, version.Tag+" "+constants.DefaultKubernetesVersion+"\n")
	write([]byte(strings.Join(lines, "")), "releases.txt")
}

func writeKubernetes() {
	var (
		kept, asked []string
		seen        = map[string]bool{}
	)

	for line := range strings.Lines(string(read("kubernetes-compat.txt"))) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") || !sameMinor(fields[0]) {
			kept = append(kept, strings.TrimSuffix(line, "\n"))
		}

		if !strings.HasPrefix(line, "#") && !seen[fields[1]] {
			seen[fields[1]] = true
			asked = append(asked, fields[1])
		}
	}

	for _, kubernetes := range asked {
		verdict := "accepted"
		if compatibility.ValidateKubernetesImageTag("registry.k8s.io/kube-apiserver:v"+kubernetes) != nil {
			verdict = "refused"
		}

		kept = append(kept, strings.Join([]string{version.Tag, kubernetes, verdict}, " "))
	}

	write([]byte(strings.Join(kept, "\n")+"\n"), "kubernetes-compat.txt")
}

type metaValue struct {
	Key   uint8  `json:"key"`
	Value string `json:"value"`
}

// meta/values.json: every release must answer the same.
func writeMeta() {
	var cases []struct {
		Name    string          `json:"name"`
		Values  []metaValue     `json:"values"`
		Gzip    string          `json:"encoded_gzip"`
		Gunzip  json.RawMessage `json:"decoded_from_gzip"`
		Plain   string          `json:"encoded_plain"`
		Decoded json.RawMessage `json:"decoded_from_plain"`
		Encoded *string         `json:"encoded"`
		Result  json.RawMessage `json:"decoded"`
	}

	readJSON(&cases, "meta", "values.json")

	decode := func(name, encoded string, want json.RawMessage) {
		values := []metaValue{}

		decoded, err := meta.DecodeValues(encoded)
		for _, value := range decoded {
			values = append(values, metaValue{value.Key, value.Value})
		}

		var expected []metaValue
		if json.Unmarshal(want, &expected) != nil {
			expected = nil
		}

		if (err != nil) != (expected == nil) || err == nil && !reflect.DeepEqual(values, expected) {
			check(fmt.Errorf("meta %s: %v, %v", name, values, err))
		}
	}

	for _, c := range cases {
		if c.Encoded != nil {
			decode(c.Name, *c.Encoded, c.Result)

			continue
		}

		values := meta.Values{}
		for _, value := range c.Values {
			values = append(values, meta.Value{Key: value.Key, Value: value.Value})
		}

		if plain := values.Encode(false); plain != c.Plain {
			check(fmt.Errorf("meta %s: %s", c.Name, plain))
		}

		decode(c.Name, c.Plain, c.Decoded)
		decode(c.Name, c.Gzip, c.Gunzip)
		decode(c.Name, values.Encode(true), c.Gunzip)
	}
}

func writeMetalMeta() {
	for _, folder := range folders("metal-meta") {
		value := read(folder, "meta-10.yaml")

		var c struct {
			OK         bool           `json:"ok"`
			Error      string         `json:"error,omitempty"`
			Unmarshals map[string]any `json:"unmarshals_on"`
		}

		readJSON(&c, folder, "case.json")

		var answer any = true
		if err := yaml.Unmarshal(value, &runtime.PlatformNetworkConfig{}); err != nil {
			answer = text(err)
		}

		replace(c.Unmarshals, answer)
		writeJSON(c, folder, "case.json")

		config, err := metalConfig(value)
		writePlatform(folder, config, err)
	}
}

func metalConfig(value []byte) (*runtime.PlatformNetworkConfig, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	st := newState()
	key := runtimeres.NewMetaKey(runtimeres.NamespaceName, runtimeres.MetaKeyTagToID(meta.MetalNetworkPlatformConfig))
	key.TypedSpec().Value = string(value)
	check(st.Create(ctx, key))

	// The platform answers once for each thing that it watches, the missing machine first.
	configs := make(chan *runtime.PlatformNetworkConfig)
	failed := make(chan error, 1)

	go func() { failed <- (&metal.Metal{}).NetworkConfiguration(ctx, st, configs) }()

	var config *runtime.PlatformNetworkConfig

	for range 2 {
		select {
		case config = <-configs:
		case err := <-failed:
			return nil, err
		}
	}

	return config, nil
}

func writePlatform(folder string, config *runtime.PlatformNetworkConfig, err error) {
	if err != nil {
		writeDifference(folder, nil, text(err))

		return
	}

	content, err := yaml.Marshal(config)
	check(err)
	writeDifference(folder, content, "")
}

func writeNocloud() {
	for _, folder := range folders("nocloud") {
		var c struct {
			OK    bool   `json:"ok"`
			Wait  *bool  `json:"needs_reconcile,omitempty"`
			Error string `json:"error,omitempty"`
			Links string `json:"links_present"`
		}

		readJSON(&c, folder, "case.json")

		ctx := context.Background()
		st := newState()

		for link := range strings.SplitSeq(c.Links, ",") {
			name, mac, _ := strings.Cut(link, "=")
			address, err := net.ParseMAC(mac)
			check(err)

			status := network.NewLinkStatus(network.NamespaceName, name)
			status.TypedSpec().HardwareAddr = nethelpers.HardwareAddr(address)
			status.TypedSpec().PermanentAddr = nethelpers.HardwareAddr(address)
			status.TypedSpec().Type = nethelpers.LinkEther
			check(st.Create(ctx, status))
		}

		devices := runtimeres.NewDevicesStatus(runtimeres.NamespaceName, runtimeres.DevicesID)
		devices.TypedSpec().Ready = true
		check(st.Create(ctx, devices))

		// As nocloud does: what it cannot read in meta-data is left out.
		metadata := &nocloud.MetadataConfig{}
		_ = yaml.Unmarshal(optional(folder, "meta-data"), metadata)

		decoded, err := nocloud.DecodeNetworkConfig(read(folder, "network-config"))
		if err != nil {
			writePlatform(folder, nil, err)

			continue
		}

		config, wait, err := (&nocloud.Nocloud{}).ParseMetadata(ctx, decoded, st, metadata)
		if err == nil && c.OK && wait != *c.Wait {
			check(fmt.Errorf("%s: needs_reconcile is %v", folder, wait))
		}

		writePlatform(folder, config, err)
	}
}

// metal-url/urls.json: every release must answer the same.
func writeURLs() {
	var cases []struct {
		URL      string            `json:"url"`
		Known    map[string]string `json:"known"`
		Result   string            `json:"result"`
		Complete bool              `json:"complete"`
		Error    string            `json:"error,omitempty"`
	}

	readJSON(&cases, "metal-url", "urls.json")

	for _, c := range cases {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		st := newState()

		if c.Known["uuid"] != "" || c.Known["serial"] != "" {
			system := hardware.NewSystemInformation(hardware.SystemInformationID)
			system.TypedSpec().UUID = c.Known["uuid"]
			system.TypedSpec().SerialNumber = c.Known["serial"]
			check(st.Create(ctx, system))
		}

		if mac := c.Known["mac"]; mac != "" {
			address, err := net.ParseMAC(mac)
			check(err)

			first := network.NewHardwareAddr(network.NamespaceName, network.FirstHardwareAddr)
			first.TypedSpec().HardwareAddr = nethelpers.HardwareAddr(address)
			check(st.Create(ctx, first))
		}

		if hostname := c.Known["hostname"]; hostname != "" {
			status := network.NewHostnameStatus(network.NamespaceName, network.HostnameID)
			status.TypedSpec().Hostname = hostname
			check(st.Create(ctx, status))
		}

		if code := c.Known["code"]; code != "" {
			key := runtimeres.NewMetaKey(runtimeres.NamespaceName, runtimeres.MetaKeyTagToID(meta.DownloadURLCode))
			key.TypedSpec().Value = code
			check(st.Create(ctx, key))
		}

		result, err := metalurl.Populate(ctx, c.URL, st)
		if result != c.Result || (err == nil) != c.Complete {
			check(fmt.Errorf("metal-url %s: %s, %w", c.URL, result, err))
		}

		cancel()
	}
}

func writeExtensions() {
	var cases []struct {
		Name string `json:"name"`
		Tree []struct {
			Path    string  `json:"path"`
			Content *string `json:"content,omitempty"`
			Symlink *string `json:"symlink,omitempty"`
			Mode    string  `json:"mode,omitempty"`
		} `json:"tree"`
		Verdict map[string]string `json:"verdict"`
	}

	readJSON(&cases, "extensions", "cases.json")

	for _, c := range cases {
		folder, err := os.MkdirTemp("", "extension-*")
		check(err)
		check(os.Chmod(folder, 0o755))

		for _, entry := range c.Tree {
			path := filepath.Join(folder, entry.Path)
			check(os.MkdirAll(filepath.Dir(path), 0o755))

			if entry.Symlink != nil {
				check(os.Symlink(*entry.Symlink, path))

				continue
			}

			mode := uint64(0o644)
			if entry.Mode != "" {
				mode, err = strconv.ParseUint(entry.Mode, 8, 32)
				check(err)
			}

			check(os.WriteFile(path, []byte(*entry.Content), 0o644))
			check(os.Chmod(path, fs.FileMode(mode)))
		}

		verdict := ""

		extension, err := extensions.Load(folder)
		if err == nil {
			metadata := extension.Manifest.Metadata
			verdict = fmt.Sprintf("ok name=%s version=%s", metadata.Name, metadata.Version)

			if err := extension.Validate(extensions.WithValidateConstraints(), extensions.WithValidateContents()); err != nil {
				verdict = "INVALID: " + strings.TrimPrefix(text(err), "ERROR: ")
			}
		} else {
			verdict = "LOAD " + text(err)
		}

		replace(c.Verdict, verdict)
		check(os.RemoveAll(folder))
	}

	writeJSON(cases, "extensions", "cases.json")
}

func writeServices() {
	var cases []struct {
		Name    string            `json:"name"`
		Spec    string            `json:"spec"`
		Verdict map[string]string `json:"verdict"`
	}

	readJSON(&cases, "extension-services", "cases.json")

	for _, c := range cases {
		var spec services.Spec

		verdict := "ok"
		if err := yaml.Unmarshal([]byte(c.Spec), &spec); err != nil {
			verdict = "PARSE " + text(err)
		} else if err := spec.Validate(); err != nil {
			verdict = "INVALID: " + strings.TrimPrefix(text(err), "ERROR: ")
		}

		replace(c.Verdict, verdict)
	}

	writeJSON(cases, "extension-services", "cases.json")
}

func writeSecrets() {
	var cases []struct {
		File    string            `json:"file"`
		Verdict map[string]string `json:"verdict"`
	}

	readJSON(&cases, "secrets-check", "verdicts.json")

	for _, c := range cases {
		verdict := "ok"

		secrets, err := secrets.LoadBundle(filepath.Join("secrets-check", c.File))
		if err == nil {
			err = secrets.Validate(config.TalosVersionCurrent)
		}

		if err != nil {
			verdict = text(err)
		}

		replace(c.Verdict, verdict)
	}

	writeJSON(cases, "secrets-check", "verdicts.json")
}

type verdict struct {
	Valid     bool     `json:"valid"`
	LoadError string   `json:"load_error,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// As `talosctl validate` does.
func validate(content []byte, mode string, strict bool) verdict {
	config, err := configloader.NewFromBytes(content)
	if err != nil {
		return verdict{LoadError: err.Error()}
	}

	parsed, err := runtime.ParseMode(mode)
	check(err)

	options := []validation.Option{validation.WithLocal()}
	if strict {
		options = append(options, validation.WithStrict())
	}

	warnings, err := config.ValidateAsClient(parsed, options...)
	if err != nil {
		return verdict{Error: err.Error(), Warnings: warnings}
	}

	return verdict{Valid: true, Warnings: warnings}
}

// Modes in the order of the files.
type modes struct {
	Metal           verdict `json:"metal"`
	MetalStrict     verdict `json:"metal-strict"`
	Cloud           verdict `json:"cloud"`
	CloudStrict     verdict `json:"cloud-strict"`
	Container       verdict `json:"container"`
	ContainerStrict verdict `json:"container-strict"`
}

func writeValidation() {
	var cases []struct {
		File     string           `json:"file"`
		Verdicts map[string]modes `json:"verdicts"`
	}

	readJSON(&cases, "validate", "verdicts.json")

	for _, c := range cases {
		content := read("validate", "configs", c.File)

		replace(c.Verdicts, modes{
			validate(content, "metal", false), validate(content, "metal", true),
			validate(content, "cloud", false), validate(content, "cloud", true),
			validate(content, "container", false), validate(content, "container", true),
		})
	}

	writeJSON(cases, "validate", "verdicts.json")
}

// As `talosctl machineconfig patch` does.
func patch(base []byte, files ...string) (content []byte, failure string) {
	defer func() {
		if cause := recover(); cause != nil {
			content, failure = nil, fmt.Sprint("panic: ", cause)
		}
	}()

	for nth, file := range files {
		files[nth] = "@" + file
	}

	patches, err := configpatcher.LoadPatches(files)
	if err != nil {
		return nil, text(err)
	}

	patched, err := configpatcher.Apply(configpatcher.WithBytes(base), patches)
	if err != nil {
		return nil, text(err)
	}

	content, err = patched.Bytes()
	if err != nil {
		return nil, text(err)
	}

	return content, ""
}

func writePatches() {
	for _, folder := range folders("patches") {
		var c struct {
			Name    string   `json:"name"`
			Patches int      `json:"patches"`
			Talos   string   `json:"talos"`
			OK      bool     `json:"ok"`
			Loads   *string  `json:"result_loads"`
			Differs []string `json:"differs_on"`
		}

		readJSON(&c, folder, "case.json")

		files := []string{}
		for nth := range c.Patches {
			files = append(files, filepath.Join(folder, fmt.Sprintf("patch-%d.yaml", nth+1)))
		}

		content, failure := patch(read(folder, "base.yaml"), files...)
		kept := []string{}

		for _, release := range c.Differs {
			if !sameMinor(release) {
				kept = append(kept, release)
			}
		}

		if writeDifference(folder, content, failure) {
			kept = append(kept, version.Tag)
		}

		c.Differs = kept
		writeJSON(c, folder, "case.json")
	}
}

type cluster struct {
	Talos    string          `json:"generated_by_talos"`
	Name     string          `json:"cluster_name"`
	Endpoint string          `json:"endpoint"`
	Options  json.RawMessage `json:"options"`
	Comments bool            `json:"comments_in_output"`
}

type options struct {
	Contract   string   `json:"talos-version"`
	Kubernetes string   `json:"kubernetes-version"`
	SANs       []string `json:"additional-sans"`
	Disk       string   `json:"install-disk"`
	Image      string   `json:"install-image"`
	Domain     string   `json:"dns-domain"`
	KubeSpan   bool     `json:"with-kubespan"`
}

func writeClusters() {
	for _, folder := range append(folders("clusters"), folders("secrets-import")...) {
		if optional(folder, "input.json") == nil {
			continue
		}

		var c cluster

		readJSON(&c, folder, "input.json")

		if !sameMinor(c.Talos) {
			continue
		}

		// The installer's image is of the release.
		c.Options = bytes.ReplaceAll(c.Options, []byte(c.Talos), []byte(version.Tag))
		c.Talos = version.Tag
		writeJSON(c, folder, "input.json")
		writeCluster(folder, c)
	}
}

// As `talosctl gen config` does.
func writeCluster(folder string, c cluster) {
	o := options{Kubernetes: constants.DefaultKubernetesVersion, Domain: "cluster.local"}
	check(json.Unmarshal(c.Options, &o))

	contract := config.TalosVersionCurrent

	if o.Contract != "" {
		var err error

		contract, err = config.ParseContractFromVersion(o.Contract)
		check(err)
	}

	loaded, err := secrets.LoadBundle(filepath.Join(folder, "secrets.yaml"))
	check(err)
	check(loaded.Validate(contract))

	generated := []generate.Option{
		generate.WithVersionContract(contract), generate.WithSecretsBundle(loaded),
		generate.WithInstallDisk(o.Disk), generate.WithInstallImage(o.Image),
		generate.WithAdditionalSubjectAltNames(o.SANs), generate.WithDNSDomain(o.Domain), generate.WithClusterDiscovery(true),
	}
	if o.KubeSpan {
		generated = append(generated, generate.WithKubeSpanEnabled(true))
	}

	configs, err := bundle.NewBundle(bundle.WithInputOptions(&bundle.InputOptions{
		ClusterName: c.Name, Endpoint: c.Endpoint, KubeVersion: o.Kubernetes, GenOptions: generated,
	}))
	check(err)

	roles := map[string][]byte{}

	for name, role := range map[string]machine.Type{"controlplane": machine.TypeControlPlane, "worker": machine.TypeWorker} {
		content, err := configs.Serialize(encoder.CommentsDisabled, role)
		check(err)

		roles[name] = content
		if optional(folder, name+".yaml") != nil {
			write(content, folder, name+".yaml")
		}
	}

	if old := optional(folder, "talosconfig"); old != nil {
		writeTalosconfig(folder, old, configs)
	}

	patches, err := filepath.Glob(filepath.Join(folder, "nodes", "*.patch.yaml"))
	check(err)

	for _, file := range patches {
		role := "worker"
		if strings.HasPrefix(filepath.Base(file), "cp") {
			role = "controlplane"
		}

		content, failure := patch(roles[role], file)
		if failure != "" {
			check(fmt.Errorf("%s: %s", file, failure))
		}

		name := strings.TrimSuffix(file, ".patch.yaml")
		write(content, name+".yaml")
		writeNode(name, content)
	}
}

func writeNode(name string, content []byte) {
	type nodeVerdict struct {
		File     string   `json:"file"`
		Mode     string   `json:"mode"`
		Strict   bool     `json:"strict"`
		Warnings []string `json:"warnings"`
		Error    string   `json:"error,omitempty"`
		Valid    bool     `json:"valid"`
	}

	var verdicts []nodeVerdict

	for _, mode := range []string{"metal", "cloud"} {
		answer := validate(content, mode, false)
		if answer.LoadError != "" {
			check(fmt.Errorf("%s: %s", name, answer.LoadError))
		}

		warnings := append([]string{}, answer.Warnings...)
		verdicts = append(verdicts, nodeVerdict{filepath.Base(name) + ".yaml", mode, false, warnings, answer.Error, answer.Valid})
	}

	writeJSON(verdicts, name+".verdicts.json")
}

// The client's certificate is a new one each time, and is left as it is in the file.
func writeTalosconfig(folder string, old []byte, configs *bundle.Bundle) {
	talosconfig := configs.TalosConfig()
	context := talosconfig.Contexts[talosconfig.Context]

	var kept struct {
		Contexts map[string]struct {
			Crt string `yaml:"crt"`
			Key string `yaml:"key"`
		} `yaml:"contexts"`
	}

	check(yaml.Unmarshal(old, &kept))

	for _, encoded := range []string{context.Crt, context.Key} {
		if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
			check(err)
		}
	}

	context.Crt = kept.Contexts[talosconfig.Context].Crt
	context.Key = kept.Contexts[talosconfig.Context].Key

	content, err := yaml.Marshal(talosconfig)
	check(err)
	write(content, folder, "talosconfig")
}
