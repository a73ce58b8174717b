// Jenkins' steps as far as onQuietNode calls them, on the nodes that are named: STEP GATE NODES NODE...
// `sh` runs its script as durable-task does, in a shell that stops at errors and prints its commands.
def (step, gate, nodes) = args[0..2]
def free = args[3..-1]
def env = [NODE_NAME: null]
def steps = new Binding(env: env)
steps.node = { String label, Closure body ->
    def given = free.find { !label.contains('!"' + it + '"') }
    if (given == null) { throw new IllegalStateException('waits for ever for ' + label) }
    env.NODE_NAME = given
    println "node ${given} for ${label}"
    body()
}
steps.sh = { Map asked ->
    def started = new ProcessBuilder('sh', '-xe', '-c', asked.script).redirectErrorStream(true)
    started.environment().put('NODE_NAME', env.NODE_NAME)
    def process = started.start()
    process.inputStream.eachLine { println it }
    process.waitFor()
    asked.returnStatus ? process.exitValue() : null
}
steps.echo = { String said -> println said }
steps.error = { String said -> throw new IllegalStateException(said) }
try {
    def onQuietNode = new GroovyShell(steps).parse(new File(step))
    onQuietNode.call(nodes: nodes as int, gate: gate, 'benchmark') { println "the benchmark runs on ${env.NODE_NAME}" }
} catch (IllegalStateException failure) {
    println "ERROR: ${failure.message}"
    System.exit(1)
}
