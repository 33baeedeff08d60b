// Runs tests/wasm/inside.py on Pyodide; the repository is mounted where it looks for it.
import { loadPyodide } from "pyodide";

const [root, ...names] = process.argv.slice(2);
const python = await loadPyodide();
python.FS.mkdirTree("/repository");
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/repository");
python.globals.set("names", python.toPy(names));
const status = await python.runPythonAsync(`
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/repository")
os.chdir("/repository")
from tests.wasm import inside
inside.main(names)
`);
process.exit(status);
