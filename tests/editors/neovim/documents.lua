-- What is shown or written besides findings: graphs, the repair log, inputs recorded and written, health.  Goes on where person.lua ends.
return function(T)
  local seen = T.seen
  vim.cmd("edit branch.py")
  local source = vim.api.nvim_get_current_buf()
  T.wait("a diagnostic", function()
    return #T.breaks() == 1
  end)
  T.sync()

  -- Graphs: a document that cannot be edited, and <CR> leads to the source.
  vim.cmd("GraphglueShowGraph")
  T.wait("the graphs", function()
    return vim.api.nvim_get_current_buf() ~= source
  end)
  seen.graphs = { name = vim.api.nvim_buf_get_name(0), text = T.text(), modifiable = vim.bo.modifiable }
  vim.fn.search("file://", "w")
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("<CR>", true, false, true), "xt", false)
  seen.followed = { buffer = vim.api.nvim_get_current_buf() == source, line = vim.api.nvim_get_current_line() }
  local windows = #vim.api.nvim_list_wins()
  vim.cmd("GraphglueShowGraph")
  T.wait("the graphs again", function()
    return vim.api.nvim_get_current_buf() ~= source
  end)
  seen.same_window = #vim.api.nvim_list_wins() == windows
  vim.cmd("GraphglueRecord") -- not of the document
  vim.cmd("bwipeout")

  -- The picture.
  local shown
  vim.ui.open = function(path)
    shown = path
    return true
  end
  vim.cmd("GraphglueShowGraph!")
  T.wait("the picture", function()
    return shown
  end)
  seen.picture = vim.fn.readfile(shown)[1]:sub(1, 4)

  vim.cmd("GraphglueRepairLog")
  T.wait("the repair log", function()
    return vim.api.nvim_get_current_buf() ~= source
  end)
  seen.repair_log = T.text()
  vim.cmd("bwipeout")

  -- Inputs: deduced ones are written into the file, those of a run are kept.
  vim.cmd("edit module.py")
  T.wait_for_client()
  T.sync()
  local before = T.text()
  vim.cmd("GraphglueWriteInputs")
  T.wait("inputs in the buffer", function()
    return T.text() ~= before
  end)
  seen.inputs = T.text()
  vim.cmd("silent undo")
  seen.undone = T.text() == before
  vim.cmd("silent edit! train.py")
  T.wait_for_client()
  local settings, python, path = require("graphglue.options").get().settings, vim.env.PYTHON, vim.env.PATH
  settings.python, vim.env.PATH = nil, "/usr/bin:/bin" -- the Python that has torch is known to the server alone
  vim.cmd("GraphglueRecord")
  T.wait("recorded inputs", function()
    return #vim.fn.glob(".graphglue/inputs/*", false, true) > 0
  end)
  T.wait("the end of the program", function()
    return T.text():find("Process exited 0", 1, true)
  end)
  seen.terminal = vim.bo.buftype
  settings.python, vim.env.PATH = python, path

  vim.cmd("bwipeout!")
  seen.healthy = T.health()

  -- Several files of a project have one server.
  local begun = #vim.fn.readfile("pids")
  vim.cmd("GraphglueRestart")
  T.wait_for_client("the client after :GraphglueRestart")
  T.sync()
  seen.begun = #vim.fn.readfile("pids") - begun
  T.finish()
end
